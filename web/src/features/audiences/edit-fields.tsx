import { Group, NumberInput, PasswordInput, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { monospaced } from '../../shared/monospaced.ts'
import { percentBounds, type AudienceValues } from './audience-form.ts'
import { FormatField } from './format-field.tsx'

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
          description="One per line; they replace all current headers. Leave empty to keep those, as long as the URL stays on the same server"
          placeholder="Authorization: Bearer …"
          maw={620}
          autosize
          minRows={2}
          {...form.getInputProps('headers')}
        />
        <FormatField form={form} />
      </>
    )
  return (
    <>
      <PasswordInput
        label="New connection"
        description="Leave empty to keep the current one"
        placeholder="postgres://user:password@host:5432/database"
        autoComplete="off"
        maw={620}
        {...form.getInputProps('connectionString')}
      />
      <Textarea label="Query" required autosize minRows={3} styles={monospaced} {...form.getInputProps('query')} />
    </>
  )
}

/** What holds a sync up, and how fast it may go. */
export const GuardFields = ({ form }: Props) => (
  <Group align="flex-start">
    <NumberInput
      label="Needs confirmation to remove more than"
      description="Share of the members"
      suffix=" %"
      min={percentBounds.min}
      max={percentBounds.max}
      required
      {...form.getInputProps('maxRemovalPercent')}
    />
    <NumberInput
      label="Bad rows allowed"
      description="Share of the rows"
      suffix=" %"
      min={percentBounds.min}
      max={percentBounds.max}
      required
      {...form.getInputProps('maxBadRowPercent')}
    />
    <NumberInput
      label="Most calls per second"
      description="Leave empty for no limit"
      min={1}
      max={100_000}
      allowDecimal={false}
      {...form.getInputProps('maxPerSecond')}
    />
  </Group>
)
