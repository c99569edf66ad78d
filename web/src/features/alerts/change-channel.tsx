import { Button, Checkbox, Group } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AlertChannel, AlertChannelPatch } from '../../../../src/schemas/alert.ts'
import { alertChannelQuery, updateAlertChannel } from '../../api/alerts.ts'
import type { Tagged } from '../../api/request.ts'
import { ChangedMeanwhile } from '../../shared/changed-meanwhile.tsx'
import { Dialog } from '../../shared/dialog.tsx'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { FormStack } from '../../shared/form-stack.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useTaggedForm } from '../../shared/use-tagged-form.ts'
import { channelFieldOf, ChannelFields, channelLabels, recipientsOf, type ChannelValues } from './channel-fields.tsx'

/** A button that opens the channel to be changed. */
export function ChangeChannel({ channel }: { channel: AlertChannel }) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        Change
      </Button>
      <Dialog opened={isOpen} onClose={close} title={`Change ${channel.name}`}>
        <ReadAndChange id={channel.id} onDone={close} />
      </Dialog>
    </>
  )
}

function ReadAndChange({ id, onDone }: { id: string; onDone: () => void }) {
  const query = useQuery(alertChannelQuery(id))
  return <QueryView query={query}>{(read) => <ChangeForm read={read} onDone={onDone} />}</QueryView>
}

/** Asks before unsaved edits are lost, and before those of others are. */
function ChangeForm({ read, onDone }: { read: Tagged<AlertChannel>; onDone: () => void }) {
  const form = useForm<ChannelValues>({ mode: 'controlled', initialValues: valuesOf(read.answer) })
  const [isSigned, setSigned] = useState(true)
  const { loaded, problem, reload, tell } = useTaggedForm({
    form,
    current: read,
    query: alertChannelQuery(read.answer.id),
    toValues: valuesOf,
    onLoad: () => setSigned(true),
  })
  const { answer: channel, etag } = loaded
  const save = useChange({
    change: (ifMatch: string | null) => updateAlertChannel(channel.id, changeOf(form.getValues(), isSigned), ifMatch),
    stale: ['alerts'],
    done: `${form.getValues().name} has been saved`,
    onDone,
    onFailed: (error) => tell(error, (told) => placeError(told, channelFieldOf, form.setFieldError)),
  })
  return (
    <form onSubmit={form.onSubmit(() => save.mutate(etag))}>
      <UnsavedGuard isDirty={form.isDirty() || !isSigned} />
      <FormStack isSaving={save.isPending}>
        <ChannelFields form={form} isKnown />
        {channel.settings?.kind === 'webhook' && channel.settings.hasSharedSecret && (
          <Checkbox
            label="Do not sign any more"
            checked={!isSigned}
            onChange={({ currentTarget }) => setSigned(!currentTarget.checked)}
          />
        )}
        <FormProblem title="Not saved" problem={problem} />
        <ChangedMeanwhile
          error={save.error}
          labels={channelLabels}
          isSaving={save.isPending}
          onReload={() => {
            save.reset()
            void reload()
          }}
          onOverwrite={() => save.mutate(null)}
        />
        <Group>
          <Button type="submit" loading={save.isPending}>
            Save the channel
          </Button>
        </Group>
      </FormStack>
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
