import { queryOptions } from '@tanstack/react-query'
import type { TurnedAwayFilter } from '../../../src/schemas/turned-away.ts'
import { pagedQuery } from './query-client.ts'
import { answerOf, api, ApiError } from './request.ts'

/** A new one is written within a second; until then it is asked for again. */
const triesUntilWritten = 5

export const turnedAwayQuery = (filter: TurnedAwayFilter, limit = 50) =>
  pagedQuery(['turned-away', 'list', filter, limit], (cursor, signal) =>
    api.GET('/turned-away', { params: { query: { ...filter, limit, cursor } }, signal }),
  )

export const turnedAwayEventQuery = (id: string) =>
  queryOptions({
    queryKey: ['turned-away', 'detail', id],
    queryFn: ({ signal }) => answerOf(api.GET('/turned-away/{id}', { params: { path: { id } }, signal })),
    retry: (count, error) => error instanceof ApiError && error.status === 404 && count < triesUntilWritten,
  })
