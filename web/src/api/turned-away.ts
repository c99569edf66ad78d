import { queryOptions } from '@tanstack/react-query'
import type { TurnedAwayDetail, TurnedAwayEvent, TurnedAwayFilter } from '../../../src/schemas/turned-away.ts'
import { pagedQuery } from './query-client.ts'
import { ApiError, request, segment } from './request.ts'

/** A new one is written within a second; until then it is asked for again. */
const triesUntilWritten = 5

export const turnedAwayQuery = (filter: TurnedAwayFilter, limit = 50) =>
  pagedQuery<TurnedAwayEvent>(['turned-away', 'list'], '/turned-away', { ...filter, limit })

export const turnedAwayEventQuery = (id: string) =>
  queryOptions({
    queryKey: ['turned-away', 'detail', id],
    queryFn: ({ signal }) => request<TurnedAwayDetail>('GET', `/turned-away/${segment(id)}`, { signal }),
    retry: (count, error) => error instanceof ApiError && error.status === 404 && count < triesUntilWritten,
  })
