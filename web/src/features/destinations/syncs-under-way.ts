import { queryOptions, type QueryClient } from '@tanstack/react-query'
import { audiencesQuery, syncsQuery } from '../../api/audiences.ts'

/** Names of the audiences whose sync under way may have something left to tell a destination: once it is off, it is passed over. */
export const syncsUnderWayQuery = (client: QueryClient, destinationId: string) =>
  queryOptions({
    queryKey: ['audiences', 'syncs under way', destinationId],
    queryFn: async () => {
      const audiences = await client.fetchQuery({ ...audiencesQuery, staleTime: 0 })
      const told = audiences.filter(({ destinationIds }) => destinationIds.includes(destinationId))
      const areUnderWay = await Promise.all(
        told.map(async ({ id }) => {
          const { pages } = await client.fetchInfiniteQuery({ ...syncsQuery(id), staleTime: 0 })
          return pages.some(({ items }) => items.some(({ status }) => status === 'running'))
        }),
      )
      return told.filter((_, index) => areUnderWay[index]).map(({ name }) => name)
    },
  })
