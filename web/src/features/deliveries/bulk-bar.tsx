import { Alert, Button, Checkbox, Group, Progress, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeliveryFilter, SteeringAction } from '../../../../src/schemas/delivery.ts'
import { steerableQuery, type BulkTarget } from '../../api/deliveries.ts'
import { CloseButton, Dialog } from '../../shared/dialog.tsx'
import { ErrorNotice } from '../../shared/error-notice.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useLastError } from '../../shared/use-last-error.ts'
import { obstacleTexts, steeringTexts } from './steering-texts.ts'
import { WhyField } from './why-field.tsx'
import { useBulkSteering, type BulkState } from './use-bulk-steering.ts'

interface Props {
  filter: DeliveryFilter
  selected: ReadonlySet<string>
  /** Whether nothing matches the filter now. */
  isEmpty: boolean
  onDone: () => void
}

const actions: SteeringAction[] = ['retry', 'redeliver', 'cancel']

/** Steers the chosen deliveries, or all that match the filter. */
export function BulkBar({ filter, selected, isEmpty, onDone }: Props) {
  const [action, setAction] = useState<SteeringAction>()
  const target: BulkTarget = selected.size > 0 ? { kind: 'ids', ids: [...selected] } : { kind: 'filter', filter }
  // What was done stays to be read, also when nothing matches the filter any more.
  if (isEmpty && action === undefined) return null
  return (
    <Group gap="xs" mb="sm">
      <Text size="sm" role="status">
        {selected.size > 0 ? `${selected.size.toLocaleString()} selected:` : 'All that match the filter:'}
      </Text>
      {actions.map((name) => (
        <Button key={name} variant="default" size="xs" onClick={() => setAction(name)}>
          {steeringTexts[name].label} …
        </Button>
      ))}
      {action !== undefined && (
        <BulkDialog
          action={action}
          target={target}
          onClose={() => {
            setAction(undefined)
            onDone()
          }}
        />
      )}
    </Group>
  )
}

interface DialogProps {
  action: SteeringAction
  target: BulkTarget
  onClose: () => void
}

/** Counts first, then does it, shows how far it is, and can be stopped. */
function BulkDialog({ action, target: initialTarget, onClose }: DialogProps) {
  // What was counted is what is steered, even if the list behind moves on.
  const [target] = useState(initialTarget)
  const [why, setWhy] = useState('')
  const [leavesOut, setLeavesOut] = useState(true)
  const client = useQueryClient()
  const { label, many } = steeringTexts[action]
  const bulk = useBulkSteering(action, target)
  const count = useQuery({ ...steerableQuery(action, target), staleTime: 0 })
  const error = useLastError(count)
  const { matched, redelivered = 0 } = count.data ?? {}
  const unlessRedelivered = redelivered > 0 && leavesOut
  const steerable = count.data && count.data.steerable - (unlessRedelivered ? redelivered : 0)
  const close = (): void => {
    void client.invalidateQueries({ queryKey: ['deliveries'] })
    onClose()
  }
  // It can be stopped here alone.
  const isRunning = bulk.state?.status === 'running' && bulk.error === null
  return (
    <Dialog
      opened
      onClose={close}
      title={label}
      closeOnClickOutside={bulk.state === undefined}
      closeOnEscape={!isRunning}
      withCloseButton={!isRunning}
    >
      <Stack>
        {bulk.error !== null && <ErrorNotice error={bulk.error} />}
        {error !== null && <ErrorNotice isReading error={error} title="They could not be counted" />}
        {bulk.state === undefined ? (
          <form
            onSubmit={(event) => {
              event.preventDefault()
              bulk.start({ why, ...(unlessRedelivered && { unlessRedelivered }) })
            }}
          >
            <UnsavedGuard isDirty={why !== ''} />
            <Stack>
              {error === null && (
                <Text fw={600}>
                  {matched === undefined
                    ? 'Counting …'
                    : `${matched.toLocaleString()} ${matched === 1 ? 'delivery' : 'deliveries'}`}
                </Text>
              )}
              {count.data?.obstacles.map((kept) => (
                <Text key={kept.obstacle} size="sm">
                  Not possible for {kept.count.toLocaleString()}: {obstacleTexts[kept.obstacle]}.
                </Text>
              ))}
              {redelivered > 0 && (
                <Checkbox
                  checked={leavesOut}
                  onChange={({ currentTarget }) => setLeavesOut(currentTarget.checked)}
                  label={`Leave out the ${redelivered.toLocaleString()} that ${redelivered === 1 ? 'was' : 'were'} redelivered before`}
                />
              )}
              <Text size="sm">{many}</Text>
              <WhyField value={why} onChange={setWhy} />
              <Group justify="flex-end">
                <CloseButton />
                <Button type="submit" loading={bulk.isStarting} disabled={steerable === undefined || steerable === 0}>
                  {label} {steerable?.toLocaleString()}
                  {steerable !== matched && ` of ${matched?.toLocaleString() ?? ''}`}
                </Button>
              </Group>
            </Stack>
          </form>
        ) : (
          <BulkProgress {...bulk.state} onStop={bulk.stop} onClose={close} />
        )}
      </Stack>
    </Dialog>
  )
}

interface ProgressProps extends BulkState {
  onStop: () => void
  onClose: () => void
}

const endings = { completed: 'Done', stopped: 'Stopped', failed: 'Failed before the end' } as const

function BulkProgress({ status, matched, done, failed, failures, onStop, onClose }: ProgressProps) {
  const share = matched === 0 ? 100 : Math.min(100, ((done + failed) / matched) * 100)
  return (
    <>
      <Progress.Root size="xl">
        <Progress.Section value={share} aria-label="Deliveries done" />
      </Progress.Root>
      <Text role="status">
        {status === 'running' ? '' : `${endings[status]}: `}
        {done.toLocaleString()} of {matched.toLocaleString()}
        {failed > 0 && `; ${failed.toLocaleString()} could not be changed`}
      </Text>
      {failures.length > 0 && (
        <Alert color="yellow" title="Why some could not be changed">
          {failures.map(({ reason, count }) => (
            <Text key={reason} size="sm" dir="auto">
              {count.toLocaleString()}: {reason}
            </Text>
          ))}
        </Alert>
      )}
      <Group justify="flex-end">
        {status === 'running' ? (
          <Button color="red.9" onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button onClick={onClose}>Close</Button>
        )}
      </Group>
    </>
  )
}
