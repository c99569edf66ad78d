import { Group, NumberInput, PasswordInput, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { AudienceValues } from './audience-form.ts'

interface Props {
  form: UseFormReturnType<AudienceValues>
}

/** Where members are fetched: secrets are never shown, and stay as they are when nothing is entered. */
export function OriginFields({ form }: Props) {
  const { from } = form.getValues()
  if (from === 'push') return null
  if (from === 'http')
    return (
      <>
        <TextInput label="URL" required maw={620} {...form.getInputProps('url')} />
        <Textarea
          label="New headers"
          description="One a line, in place of all present ones; empty: they stay as long as the server of the URL does"
          placeholder="Authorization: Bearer …"
          maw={620}
          autosize
          minRows={2}
          {...form.getInputProps('headers')}
        />
      </>
    )
  return (
    <>
      <PasswordInput
        label="New connection"
        description="Empty: the present one stays"
        placeholder="postgres://user:password@host:5432/database"
        autoComplete="off"
        maw={620}
        {...form.getInputProps('connectionString')}
      />
      <Textarea label="Query" required autosize minRows={3} ff="monospace" {...form.getInputProps('query')} />
    </>
  )
}

/** What holds a sync up, and how fast it may go. */
export const GuardFields = ({ form }: Props) => (
  <Group align="flex-start">
    <NumberInput
      label="Asks before removing more than"
      description="Share of the members"
      suffix=" %"
      min={0}
      max={100}
      required
      {...form.getInputProps('maxRemovalPercent')}
    />
    <NumberInput
      label="Bad rows allowed"
      description="Share of the rows"
      suffix=" %"
      min={0}
      max={100}
      required
      {...form.getInputProps('maxBadRowPercent')}
    />
    <NumberInput
      label="Calls a second, at most"
      description="Empty: as many as it takes"
      min={1}
      max={100_000}
      allowDecimal={false}
      {...form.getInputProps('maxPerSecond')}
    />
  </Group>
)
