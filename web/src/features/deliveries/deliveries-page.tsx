import { Badge, Button, Text } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import { deliveriesQuery, deliveryCountQuery } from '../../api/deliveries.ts'
import { recovering } from '../../api/query-client.ts'
import { LoadMore } from '../../shared/load-more.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { startedStatuses } from '../../shared/open-statuses.ts'
import { useConnection } from '../../shared/use-connection.ts'
import { useLastError } from '../../shared/use-last-error.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { BulkBar } from './bulk-bar.tsx'
import { DeliveryTable } from './delivery-table.tsx'
import { FilterBar } from './filter-bar.tsx'
import { InInbox } from './in-inbox.tsx'
import { NothingHere } from './nothing-here.tsx'
import { PartlyDelivered } from './partly-delivered.tsx'

/** How often the newest deliveries are read, in milliseconds. */
const liveMs = 3_000

/** How often all that fit are counted, in milliseconds. */
const countMs = 10_000

/** With more pages than this on show, the list stands still: every refresh reads all of them. */
const maxLivePages = 2

export function DeliveriesPage() {
  const filter = useSearch({ from: '/shell/deliveries' })
  const navigate = useNavigate()
  const router = useRouter()
  const canChange = useCanChange()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const query = useInfiniteQuery({
    ...deliveriesQuery(filter),
    refetchInterval: recovering(({ state }) => ((state.data?.pages.length ?? 0) > maxLivePages ? false : liveMs)),
  })
  const total = useQuery({ ...deliveryCountQuery(filter), refetchInterval: countMs, placeholderData: keepPreviousData })
  const deliveries = query.data?.pages.flatMap(({ items }) => items) ?? []
  const { isLost } = useConnection()
  const error = useLastError(query)
  const isLive = !isLost && error === null && (query.data?.pages.length ?? 0) <= maxLivePages
  const change = (next: DeliveryFilter): void => {
    // A filter follows its typing after a pause. By then a row may have been opened whose page is still being loaded.
    if (router.latestLocation.pathname !== '/deliveries') return
    setSelected(new Set())
    void navigate({ to: '/deliveries', search: next, replace: true })
  }
  return (
    <>
      <PageHeader
        title="Deliveries"
        description="Every accepted event and where it stands: those under way first, then the latest to end."
        badge={
          <Badge variant="dot" color={isLive ? 'teal' : 'gray'}>
            {isLive ? 'Live' : 'Not updating'}
          </Badge>
        }
        actions={
          <Button
            variant="default"
            leftSection={<IconRefresh size={16} aria-hidden />}
            onClick={() => void query.refetch()}
          >
            Refresh
          </Button>
        }
      />
      <FilterBar filter={filter} onChange={change} />
      {canChange && (
        <BulkBar
          filter={filter}
          selected={selected}
          isEmpty={deliveries.length === 0}
          onDone={() => setSelected(new Set())}
        />
      )}
      {filter.status === 'failed' && filter.destinationId === undefined && (
        <PartlyDelivered filter={filter} isBesideSome={deliveries.length > 0} />
      )}
      {startedStatuses.some((status) => status === filter.status) && (
        <InInbox filter={filter} isBesideSome={deliveries.length > 0} refreshMs={countMs} />
      )}
      <QueryView query={query}>
        {() =>
          deliveries.length === 0 ? (
            <NothingHere filter={filter} onChange={change} />
          ) : (
            <>
              <DeliveryTable
                deliveries={deliveries}
                {...(canChange && { selection: { selected, onChange: setSelected } })}
              />
              {total.data !== undefined && (
                <Text size="sm" c="dimmed" mt="sm" role="status">
                  Shown: {deliveries.length.toLocaleString()} of{' '}
                  {Math.max(total.data.count, deliveries.length).toLocaleString()}
                </Text>
              )}
              <LoadMore query={query} />
            </>
          )
        }
      </QueryView>
    </>
  )
}
