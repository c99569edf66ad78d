import { Button, Group, Text } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import { bulkSteeringQuery, deliveryCountQuery, startBulkSteering } from '../../api/deliveries.ts'
import { recovering } from '../../api/query-client.ts'
import { ErrorNotice } from '../../shared/error-notice.tsx'
import { Link } from '../../shared/link.tsx'
import { useChange } from '../../shared/use-change.ts'

const refreshMs = 3_000
const progressMs = 500

interface Props {
  destinationId: string
  /** Whether it sends: neither paused nor switched off. */
  isAttempted: boolean
}

/** After an endpoint was mended: those that wait for their next attempt make it now; what is in the inbox follows. */
export function RetryWaiting({ destinationId, isAttempted }: Props) {
  const filter = { destinationId, status: 'retrying' } as const
  const count = useQuery({ ...deliveryCountQuery(filter), refetchInterval: refreshMs }).data?.count ?? 0
  const queued = { destinationId, status: 'queued' } as const
  const inInbox = useQuery({ ...deliveryCountQuery(queued), refetchInterval: refreshMs }).data?.count ?? 0
  const { start, progress, error } = useRetry(filter)
  if (count === 0 && inInbox === 0 && progress === undefined) return null
  return (
    <>
      {error !== null && <ErrorNotice error={error} />}
      <Group gap="sm">
        {/* What waited for a destination that is off is being discarded, and what waits for a paused one is held. */}
        {count > 0 && isAttempted && (
          <Button
            variant="default"
            leftSection={<IconRefresh size={16} aria-hidden />}
            loading={start.isPending || progress?.status === 'running'}
            onClick={() => start.mutate()}
          >
            Retry the {count.toLocaleString()} that {count === 1 ? 'waits' : 'wait'}
          </Button>
        )}
        {progress !== undefined && (
          <Text size="sm" role="status">
            Retry ordered for {progress.done.toLocaleString()} of {progress.matched.toLocaleString()}
            {progress.failed > 0 && `; ${progress.failed.toLocaleString()} could not be retried`}.
          </Text>
        )}
        {count > 0 && (
          <Link size="sm" to="/deliveries" search={filter}>
            Show them
          </Link>
        )}
        {inInbox > 0 && (
          <Text size="sm">
            <Link to="/deliveries" search={queued}>
              {inInbox.toLocaleString()} {count > 0 ? 'more ' : ''}
              {inInbox === 1 ? 'waits' : 'wait'} in the inbox
            </Link>
            {isAttempted && (inInbox === 1 ? ' and is sent in its turn' : ' and are sent in their turn')}.
          </Text>
        )}
      </Group>
    </>
  )
}

/** Tells all that match, and how far that is. */
function useRetry(filter: DeliveryFilter) {
  const [id, setId] = useState<string>()
  const start = useChange({
    change: () => startBulkSteering('retry', filter, 'retried on the destination’s page'),
    stale: [],
    onDone: (begun) => setId(begun.id),
    onFailed: () => {},
  })
  const progress = useQuery({
    ...bulkSteeringQuery(id ?? ''),
    enabled: id !== undefined,
    refetchInterval: recovering(({ state }) =>
      state.data?.status === 'running' || state.data === undefined ? progressMs : false,
    ),
  })
  return { start, progress: progress.data ?? start.data, error: start.error ?? progress.error }
}
