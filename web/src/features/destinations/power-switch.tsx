import { Button, Group, Stack, Switch, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Destination, DestinationPatch } from '../../../../src/schemas/destination.ts'
import { deliveryCountQuery } from '../../api/deliveries.ts'
import { changeDestination } from '../../api/destinations.ts'
import { Dialog } from '../../shared/dialog.tsx'
import { openStatuses } from '../../shared/open-statuses.ts'
import { useChange } from '../../shared/use-change.ts'

/** How often what waits is counted while it asks. */
const refreshMs = 2_000

/** Switches a destination on and off. Switching off discards what waits for it: it asks first, with the count, and offers to
 *  pause instead, which discards nothing. */
export function PowerSwitch({ destination: { id, name, enabled, paused } }: { destination: Destination }) {
  const client = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const change = useChange({
    change: (patch: DestinationPatch) => changeDestination(id, patch),
    stale: ['destinations', 'deliveries'],
    onDone: () => setAsking(false),
  })
  const waitingQuery = {
    queryKey: ['deliveries', 'waiting', id],
    queryFn: async () => {
      const counts = openStatuses.map((status) =>
        client.fetchQuery({ ...deliveryCountQuery({ status, destinationId: id }), staleTime: 0 }),
      )
      return (await Promise.all(counts)).reduce((total, one) => total + one.count, 0)
    },
  }
  const count = useChange({
    change: () => client.fetchQuery({ ...waitingQuery, staleTime: 0 }),
    stale: [],
    onDone: (waiting) => (waiting === 0 ? change.mutate({ enabled: false }) : setAsking(true)),
    onFailed: () => setAsking(true),
  })
  const counted = useQuery({ ...waitingQuery, enabled: isAsking, refetchInterval: refreshMs })
  const waiting = counted.isError ? undefined : counted.data
  // Not disabled while it is busy: it would lose the focus, which comes back to it from the dialog.
  const isBusy = change.isPending || count.isPending
  const turn = (): void => (enabled ? count.mutate() : change.mutate({ enabled: true }))
  return (
    <>
      <Switch
        label={enabled ? 'On' : 'Off'}
        checked={enabled}
        aria-disabled={isBusy}
        onChange={isBusy ? () => {} : turn}
      />
      <Dialog opened={isAsking} onClose={() => setAsking(false)} title={`Switch ${name} off?`}>
        <Stack>
          <Text fw={600}>{waitingText(waiting)}</Text>
          <Text size="sm">
            Switching it off discards the deliveries that wait, and new events are not sent to it.
            {!paused && ' If you pause it instead, all of them wait until you resume it.'}
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setAsking(false)}>
              Keep it on
            </Button>
            {!paused && (
              <Button data-autofocus loading={change.isPending} onClick={() => change.mutate({ paused: true })}>
                Pause instead
              </Button>
            )}
            <Button color="red.9" loading={change.isPending} onClick={() => change.mutate({ enabled: false })}>
              Switch off and discard{waiting === undefined ? '' : ` ${waiting.toLocaleString()}`}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  )
}

const waitingText = (waiting: number | undefined): string => {
  if (waiting === undefined) return 'The deliveries that wait for it cannot be counted now.'
  return waiting === 1 ? '1 delivery waits for it.' : `${waiting.toLocaleString()} deliveries wait for it.`
}
