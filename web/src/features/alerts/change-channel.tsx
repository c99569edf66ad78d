import { Button, Checkbox, Group, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import type { AlertChannel, AlertChannelPatch } from '../../../../src/schemas/alert.ts'
import { updateAlertChannel } from '../../api/alerts.ts'
import { Dialog } from '../../shared/dialog.tsx'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { channelFieldOf, ChannelFields, recipientsOf, type ChannelValues } from './channel-fields.tsx'

/** A button that opens the channel to be changed. */
export function ChangeChannel({ channel }: { channel: AlertChannel }) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        Change
      </Button>
      <Dialog opened={isOpen} onClose={close} title={`Change ${channel.name}`} closeOnClickOutside={false}>
        <ChangeForm channel={channel} onDone={close} />
      </Dialog>
    </>
  )
}

function ChangeForm({ channel, onDone }: { channel: AlertChannel; onDone: () => void }) {
  const form = useForm<ChannelValues>({ mode: 'controlled', initialValues: valuesOf(channel) })
  const [isSigned, setSigned] = useState(true)
  const [problem, setProblem] = useState<string>()
  const save = useChange({
    change: () => updateAlertChannel(channel.id, changeOf(form.getValues(), isSigned)),
    stale: ['alerts'],
    done: `${form.getValues().name} has been saved`,
    onDone,
    onFailed: (error) => setProblem(placeError(error, channelFieldOf, form.setFieldError)),
  })
  return (
    <form onSubmit={form.onSubmit(() => save.mutate())}>
      <UnsavedGuard isDirty={form.isDirty() || !isSigned} />
      <Stack>
        <ChannelFields form={form} isKnown />
        {channel.settings?.kind === 'webhook' && channel.settings.hasSharedSecret && (
          <Checkbox
            label="Do not sign any more"
            checked={!isSigned}
            onChange={({ currentTarget }) => setSigned(!currentTarget.checked)}
          />
        )}
        <FormProblem title="Not saved" problem={problem} />
        <Group>
          <Button type="submit" loading={save.isPending}>
            Save the channel
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function valuesOf({ name, kind, settings }: AlertChannel): ChannelValues {
  const mail = settings?.kind === 'email' ? settings : { from: '', to: [] }
  return { name, kind, url: '', sharedSecret: '', from: mail.from, to: mail.to.join(', ') }
}

/** What is secret and not typed stays. */
function changeOf(values: ChannelValues, isSigned: boolean): AlertChannelPatch {
  const { name, kind, sharedSecret, from, to } = values
  const url = values.url.trim()
  const given = url !== '' && { url }
  if (kind === 'slack') return { name, settings: { kind, ...given } }
  if (kind === 'email') {
    const mail = { from: from.trim(), to: recipientsOf(to) }
    return { name, settings: { kind, ...(url !== '' && { smtpUrl: url }), ...mail } }
  }
  const secret = isSigned ? sharedSecret !== '' && { sharedSecret } : { sharedSecret: null }
  return { name, settings: { kind, ...given, ...secret } }
}
