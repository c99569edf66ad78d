import { infiniteQueryOptions, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError, request, type Page } from './request.ts'

const isTemporary = (error: Error): boolean => error instanceof ApiError && (error.status >= 500 || error.status === 0)

/** The cache of the server's answers; tells `onSignedOut` when the session has ended. */
export const createQueryClient = (onSignedOut: () => void): QueryClient =>
  new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        const isSession = query.queryKey[0] === 'session'
        if (error instanceof ApiError && error.status === 401 && !isSession) onSignedOut()
      },
    }),
    defaultOptions: {
      queries: { staleTime: 5_000, retry: (count, error) => count < 2 && isTemporary(error) },
      mutations: { retry: false },
    },
  })

/** A list that is read page by page. */
export const pagedQuery = <Item>(
  key: readonly unknown[],
  path: string,
  query: Record<string, string | number | undefined> = {},
) =>
  infiniteQueryOptions({
    queryKey: [...key, query],
    queryFn: ({ pageParam, signal }) =>
      request<Page<Item>>('GET', path, { query: { ...query, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })

/** Most pages that are read for a choice of names; beyond them the ids are shown. */
const maxNamePages = 5

/** All items of a short list, such as the sources. */
export async function readAll<Item>(path: string, signal: AbortSignal): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxNamePages; page++) {
    const answer = await request<Page<Item>>('GET', path, { query: { limit: 200, cursor }, signal })
    items.push(...answer.items)
    if (answer.nextCursor === null) break
    cursor = answer.nextCursor
  }
  return items
}
