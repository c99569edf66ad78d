import { Button, Group, PasswordInput, Select, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import type { AlertChannelSettings, NewAlertChannel } from '../../../../src/schemas/alert.ts'
import { createAlertChannel } from '../../api/alerts.ts'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { useChange } from '../../shared/use-change.ts'

interface ChannelValues {
  name: string
  kind: AlertChannelSettings['kind']
  url: string
  sharedSecret: string
  from: string
  /** Addresses, with commas. */
  to: string
}

const empty: ChannelValues = { name: '', kind: 'email', url: '', sharedSecret: '', from: '', to: '' }

const kinds: { value: ChannelValues['kind']; label: string }[] = [
  { value: 'email', label: 'E-mail by SMTP' },
  { value: 'slack', label: 'Slack' },
  { value: 'webhook', label: 'Webhook' },
]

/** A place where alerts go. */
export function NewChannel() {
  const form = useForm<ChannelValues>({ mode: 'controlled', initialValues: empty })
  const [problem, setProblem] = useState<string>()
  const create = useChange({
    change: () => createAlertChannel(toChannel(form.getValues())),
    stale: ['alerts'],
    onDone: () => {
      form.reset()
      setProblem(undefined)
    },
    onFailed: (error) => setProblem(placeError(error, fieldOf, form.setFieldError)),
  })
  const { kind } = form.getValues()
  return (
    <form onSubmit={form.onSubmit(() => create.mutate())}>
      <Stack maw={480}>
        <Select label="Kind" data={kinds} allowDeselect={false} {...form.getInputProps('kind')} />
        <TextInput label="Name of the channel" required {...form.getInputProps('name')} />
        <PasswordInput
          label={kind === 'email' ? 'SMTP server' : 'URL'}
          description={kind === 'email' ? 'As in smtp://user:password@mail.example.com:587' : undefined}
          required
          autoComplete="off"
          {...form.getInputProps('url')}
        />
        {kind === 'webhook' && (
          <PasswordInput
            label="Secret that signs"
            description="Empty: not signed"
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
        <FormProblem title="Not added" problem={problem} />
        <Group>
          <Button type="submit" loading={create.isPending}>
            Add the channel
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

const toChannel = (values: ChannelValues): NewAlertChannel => ({
  name: values.name,
  settings: toSettings(values),
  appUrl: window.location.origin,
})

function toSettings({ kind, url, sharedSecret, from, to }: ChannelValues): AlertChannelSettings {
  if (kind === 'slack') return { kind, url: url.trim() }
  if (kind === 'webhook') return { kind, url: url.trim(), ...(sharedSecret !== '' && { sharedSecret }) }
  const recipients = to.split(',').map((one) => one.trim())
  return { kind, smtpUrl: url.trim(), from: from.trim(), to: recipients }
}

/** The form's field for a member of the body that the server found wrong. */
function fieldOf(path: string): string | undefined {
  const member = path.replace(/^settings\./, '').replace(/\[.*$/, '')
  return member === 'smtpUrl' ? 'url' : member
}
