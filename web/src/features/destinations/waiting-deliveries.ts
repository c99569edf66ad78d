import { queryOptions, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { deliveryCountQuery } from '../../api/deliveries.ts'
import { openStatuses } from '../../shared/open-statuses.ts'
import { useLastError } from '../../shared/use-last-error.ts'

/** How often what waits is counted while a question shows it, in milliseconds. */
const refreshMs = 2_000

/** How many deliveries wait for a destination, in any of the ways there are. */
export const waitingQuery = (client: QueryClient, destinationId: string) =>
  queryOptions({
    queryKey: ['deliveries', 'waiting', destinationId],
    queryFn: async () => {
      const counts = openStatuses.map((status) =>
        client.fetchQuery({ ...deliveryCountQuery({ status, destinationId }), staleTime: 0 }),
      )
      return (await Promise.all(counts)).reduce((total, one) => total + one.count, 0)
    },
  })

/** Counts them again and again.
 *  @returns how many there are, undefined where that is not known, and the sentence that says it */
export function useWaiting(destinationId: string, enabled = true): { waiting: number | undefined; text: string } {
  const query = waitingQuery(useQueryClient(), destinationId)
  const counted = useQuery({ ...query, enabled, refetchInterval: refreshMs })
  const error = useLastError(counted)
  const { data } = counted
  if (error !== null) return { waiting: undefined, text: 'The deliveries that wait for it cannot be counted now.' }
  if (data === undefined) return { waiting: undefined, text: 'Counting the deliveries that wait for it …' }
  return {
    waiting: data,
    text: data === 1 ? '1 delivery waits for it.' : `${data.toLocaleString()} deliveries wait for it.`,
  }
}
