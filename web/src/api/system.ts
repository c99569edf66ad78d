import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { NewApiToken } from '../../../src/schemas/access.ts'
import type { AuditFilter } from '../../../src/schemas/audit.ts'
import type { OverviewQuery } from '../../../src/schemas/overview.ts'
import { pagedQuery, readAll } from './query-client.ts'
import { answerOf, api, sending } from './request.ts'

/** How often what the pages of state show is read again, in milliseconds. */
const refreshMs = 5_000

/** @param chosen  what tells it from other overviews
 *  @param queryAt  the question at a time, in milliseconds since 1970: a range up to now moves */
export const overviewQuery = (chosen: object, queryAt: (now: number) => OverviewQuery) =>
  queryOptions({
    queryKey: ['overview', chosen],
    queryFn: ({ signal }) => answerOf(api.GET('/overview', { params: { query: queryAt(Date.now()) }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  })

export const activityQuery = queryOptions({
  queryKey: ['activity'],
  queryFn: ({ signal }) => answerOf(api.GET('/activity', { signal })),
  refetchInterval: refreshMs,
})

export const onboardingQuery = queryOptions({
  queryKey: ['onboarding'],
  queryFn: ({ signal }) => answerOf(api.GET('/onboarding', { signal })),
})

/** The server looks at its parts for 2 seconds at most; later it counts as gone, in milliseconds. */
const statusLimitMs = 6_000

const askingForStatus = sending({ limitMs: statusLimitMs, isUrgent: true })

/** How often a server that is gone is looked for, in milliseconds. */
const lookAgainMs = 2_000

/** How the server and its parts do; while it answers, the app is connected. */
export const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: ({ signal }) => answerOf(api.GET('/status', { signal, fetch: askingForStatus })),
  refetchInterval: ({ state }) => (state.error === null ? refreshMs : lookAgainMs),
})

export const auditLogQuery = (filter: AuditFilter) =>
  pagedQuery(['audit-log', filter], (cursor, signal) =>
    api.GET('/audit-log', { params: { query: { ...filter, limit: 50, cursor } }, signal }),
  )

/** Most ids in one question about deleted things. */
const maxDeletedIds = 100

/** What deleted things were called. @param ids  of those, and of others: the first of them are asked for */
export function deletedNamesQuery(ids: readonly string[]) {
  const asked = [...new Set(ids)].sort().slice(0, maxDeletedIds)
  return queryOptions({
    queryKey: ['deleted-names', asked],
    queryFn: async ({ signal }) =>
      (await answerOf(api.GET('/deleted-names', { params: { query: { ids: asked.join(',') } }, signal }))).items,
    enabled: asked.length > 0,
    placeholderData: keepPreviousData,
    // A name that is kept stays as it is.
    staleTime: 60_000,
  })
}

export const tokensQuery = queryOptions({
  queryKey: ['tokens'],
  queryFn: ({ signal }) => readAll((query) => api.GET('/tokens', { params: { query }, signal })),
})

export const createToken = (body: NewApiToken) => answerOf(api.POST('/tokens', { body }))

export const revokeToken = (id: string) => answerOf(api.DELETE('/tokens/{id}', { params: { path: { id } } }))
