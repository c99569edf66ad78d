import { PasswordInput, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { AlertChannelSettings } from '../../../../src/schemas/alert.ts'

/** A channel as it is typed. */
export interface ChannelValues {
  name: string
  kind: AlertChannelSettings['kind']
  url: string
  sharedSecret: string
  from: string
  /** Addresses, with commas. */
  to: string
}

interface Props {
  form: UseFormReturnType<ChannelValues>
  /** Whether there is a channel already: what is secret stays where nothing is typed. */
  isKnown: boolean
}

/** What the form calls the members of a channel. */
export const channelLabels = {
  name: 'Name of the channel',
  'settings.url': 'URL',
  'settings.smtpUrl': 'SMTP server',
  'settings.sharedSecret': 'Secret that signs',
  'settings.from': 'From',
  'settings.to': 'To',
}

const asItIs = 'Empty: as it is'

export function ChannelFields({ form, isKnown }: Props) {
  const { kind } = form.getValues()
  const example = kind === 'email' ? 'As in smtp://user:password@mail.example.com:587' : undefined
  return (
    <>
      <TextInput label="Name of the channel" required {...form.getInputProps('name')} />
      <PasswordInput
        label={kind === 'email' ? 'SMTP server' : 'URL'}
        description={isKnown ? asItIs : example}
        required={!isKnown}
        autoComplete="off"
        {...form.getInputProps('url')}
      />
      {kind === 'webhook' && (
        <PasswordInput
          label="Secret that signs"
          description={isKnown ? asItIs : 'Empty: not signed'}
          autoComplete="off"
          {...form.getInputProps('sharedSecret')}
        />
      )}
      {kind === 'email' && (
        <>
          <TextInput label="From" required {...form.getInputProps('from')} />
          <TextInput label="To" description="Addresses, with commas" required {...form.getInputProps('to')} />
        </>
      )}
    </>
  )
}

/** @param to  as it is typed */
export const recipientsOf = (to: string): string[] => to.split(',').map((one) => one.trim())

/** The form's field for a member of the body that the server found wrong. */
export function channelFieldOf(path: string): string | undefined {
  const member = path.replace(/^settings\./, '').replace(/\[.*$/, '')
  return member === 'smtpUrl' ? 'url' : member
}
