import { Badge, Button, Text } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import { deliveriesQuery, deliveryCountQuery } from '../../api/deliveries.ts'
import { LoadMore } from '../../shared/load-more.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { useCanChange } from '../../shared/use-role.ts'
import { BulkBar } from './bulk-bar.tsx'
import { DeliveryTable } from './delivery-table.tsx'
import { FilterBar } from './filter-bar.tsx'
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
  const canChange = useCanChange()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const query = useInfiniteQuery({
    ...deliveriesQuery(filter),
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > maxLivePages ? false : liveMs),
  })
  const total = useQuery({ ...deliveryCountQuery(filter), refetchInterval: countMs, placeholderData: keepPreviousData })
  const deliveries = query.data?.pages.flatMap(({ items }) => items) ?? []
  const isLive = query.error === null && (query.data?.pages.length ?? 0) <= maxLivePages
  const change = (next: DeliveryFilter): void => {
    setSelected(new Set())
    void navigate({ to: '/deliveries', search: next, replace: true })
  }
  return (
    <>
      <PageHeader
        title="Deliveries"
        description="Every accepted event, newest first, and where it stands."
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
      {canChange && deliveries.length > 0 && (
        <BulkBar filter={filter} selected={selected} onDone={() => setSelected(new Set())} />
      )}
      {filter.status === 'failed' && <PartlyDelivered filter={filter} />}
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
              <LoadMore
                hasMore={query.hasNextPage}
                isLoading={query.isFetchingNextPage}
                hasFailed={query.isFetchNextPageError}
                onMore={query.fetchNextPage}
              />
            </>
          )
        }
      </QueryView>
    </>
  )
}
