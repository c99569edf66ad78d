import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query'
import type { MissingPart } from '../../../src/schemas/system.ts'
import { isUnreachable } from '../api/request.ts'
import { statusQuery } from '../api/system.ts'
import { useLastError } from './use-last-error.ts'

/** How the app stands with its server: one state for all pages. */
export interface Connection {
  /** The server does not answer. */
  isLost: boolean
  /** When it last did, in milliseconds since 1970; 0: never since the app was opened. */
  answeredAt: number
  /** What the server stands on that does not answer it. */
  missing: MissingPart[]
}

export function useConnection(): Connection {
  const client = useQueryClient()
  const query = useQuery(statusQuery)
  const { data } = query
  return { isLost: isUnreachable(useLastError(query)), answeredAt: lastAnswer(client), missing: data?.missing ?? [] }
}

/** A page may have its answers before the first status comes. */
const lastAnswer = (client: QueryClient): number =>
  client
    .getQueryCache()
    .getAll()
    .reduce((last, { state }) => Math.max(last, state.dataUpdatedAt), 0)
