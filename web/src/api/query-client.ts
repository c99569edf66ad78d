import { infiniteQueryOptions, MutationCache, notifyManager, QueryCache, QueryClient } from '@tanstack/react-query'
import type { Called } from '@postrider/api'
import { answerOf, ApiError, isMissing, isTemporary, isUnreachable, type Page } from './request.ts'

/** How soon what failed for a while is asked again, in milliseconds. */
const againMs = 3_000

interface Listeners {
  /** The session has ended. */
  onSignedOut: () => void
  /** A query got no answer at all. */
  onUnreachable: () => void
}

// A form is locked within the task in which its change begins: a key that is pressed right after Enter would come before a timer.
notifyManager.setScheduler(queueMicrotask)

const isSignedOut = (error: Error): boolean => error instanceof ApiError && error.status === 401

/** The cache of the server's answers. What fails for a while is shown as failed at once, and asked again until it works. */
export const createQueryClient = ({ onSignedOut, onUnreachable }: Listeners): QueryClient =>
  new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (isSignedOut(error)) onSignedOut()
        if (isUnreachable(error) && query.queryKey[0] !== 'status') onUnreachable()
      },
    }),
    mutationCache: new MutationCache({
      onError: (error, _input, _context, { meta }) => {
        if (isSignedOut(error) && meta?.['isSignIn'] !== true) onSignedOut()
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: false,
        // A node on this machine is there without a network.
        networkMode: 'always',
        refetchInterval: recovering(() => false),
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  })

interface Asked {
  state: { error: Error | null }
}

/** A `refetchInterval` that may end by itself: what failed for a while then is asked again until it works, also what was over or is long.
 *  @param interval  how often it is read again while it works, in milliseconds; `false`: not by itself */
export const recovering =
  <Query extends Asked>(interval: (query: Query) => number | false) =>
  (query: Query): number | false =>
    interval(query) || (isTemporary(query.state.error) && againMs)

/** A `refetchInterval` that ends once what is asked for is not there.
 *  @param ms  how often it is read again, in milliseconds */
export const whileThere =
  (ms: number) =>
  ({ state }: Asked): number | false =>
    isMissing(state.error) ? false : ms

/** A list that is read page by page. */
export const pagedQuery = <Item>(
  queryKey: readonly unknown[],
  readPage: (cursor: string | undefined, signal: AbortSignal) => Promise<Called<Page<Item>>>,
) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => answerOf(readPage(pageParam, signal)),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })

/** Most pages that are read for a choice of names; beyond them the ids are shown. */
const maxNamePages = 5

/** All items of a short list, such as the sources. */
export async function readAll<Item>(
  readPage: (page: { limit: number; cursor: string | undefined }) => Promise<Called<Page<Item>>>,
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxNamePages; page++) {
    const answer = await answerOf(readPage({ limit: 200, cursor }))
    items.push(...answer.items)
    if (answer.nextCursor === null) break
    cursor = answer.nextCursor
  }
  return items
}
