import { Button, Group, Select } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import type { AlertChannelSettings, NewAlertChannel } from '../../../../src/schemas/alert.ts'
import { createAlertChannel } from '../../api/alerts.ts'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { FormStack } from '../../shared/form-stack.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { channelFieldOf, ChannelFields, recipientsOf, type ChannelValues } from './channel-fields.tsx'

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
    onFailed: (error) => setProblem(placeError(error, channelFieldOf, form.setFieldError)),
  })
  return (
    <form onSubmit={form.onSubmit(() => create.mutate())}>
      <UnsavedGuard isDirty={form.isDirty()} />
      <FormStack isSaving={create.isPending} maw={480}>
        <Select label="Kind" data={kinds} allowDeselect={false} {...form.getInputProps('kind')} />
        <ChannelFields form={form} isKnown={false} />
        <FormProblem title="Not added" problem={problem} />
        <Group>
          <Button type="submit" loading={create.isPending}>
            Add the channel
          </Button>
        </Group>
      </FormStack>
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
  return { kind, smtpUrl: url.trim(), from: from.trim(), to: recipientsOf(to) }
}
