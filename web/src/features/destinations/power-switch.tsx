import { Button, Group, Stack, Switch, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Destination, DestinationPatch } from '../../../../src/schemas/destination.ts'
import { changeDestination } from '../../api/destinations.ts'
import { Dialog } from '../../shared/dialog.tsx'
import { useChange } from '../../shared/use-change.ts'
import { syncsUnderWayQuery } from './syncs-under-way.ts'
import { useWaiting, waitingQuery } from './waiting-deliveries.ts'

/** Switches a destination on and off. Switching off discards what waits for it, and syncs under way pass it over: it asks first, with the
 *  count, and offers to pause instead, which discards nothing. */
export function PowerSwitch({ destination: { id, name, enabled, paused } }: { destination: Destination }) {
  const client = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const change = useChange({
    change: (patch: DestinationPatch) => changeDestination(id, patch),
    stale: ['destinations', 'deliveries'],
    onDone: () => setAsking(false),
  })
  const count = useChange({
    change: async () => {
      const [waiting, syncing] = await Promise.all([
        client.fetchQuery({ ...waitingQuery(client, id), staleTime: 0 }),
        client.fetchQuery({ ...syncsUnderWayQuery(client, id), staleTime: 0 }),
      ])
      return waiting > 0 || syncing.length > 0
    },
    stale: [],
    onDone: (isToAsk) => (isToAsk ? setAsking(true) : change.mutate({ enabled: false })),
    onFailed: () => setAsking(true),
  })
  // It may be switched off meanwhile, by somebody else or by an order whose answer was lost: then there is nothing to ask.
  if (isAsking && !enabled) setAsking(false)
  const { waiting, text } = useWaiting(id, isAsking)
  const syncing = useQuery({ ...syncsUnderWayQuery(client, id), enabled: isAsking }).data ?? []
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
          <Text fw={600}>{text}</Text>
          <Text size="sm">
            Switching it off discards the deliveries that wait, and new events are not sent to it.
            {!paused && ' If you pause it instead, all of them wait until you resume it.'}
          </Text>
          {syncing.length > 0 && (
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              A sync that is under way passes it over once it is off. What it was not told then comes with the next sync
              after it is on again, of {syncing.join(', ')}.
            </Text>
          )}
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
              {waiting === 0 ? 'Switch off' : `Switch off and discard ${waiting?.toLocaleString() ?? ''}`.trim()}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  )
}
