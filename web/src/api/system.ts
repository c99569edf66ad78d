import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Activity } from '../../../src/schemas/activity.ts'
import type { ApiToken, CreatedApiToken, NewApiToken } from '../../../src/schemas/access.ts'
import type { AuditEntry, AuditFilter } from '../../../src/schemas/audit.ts'
import type { DeletedName } from '../../../src/schemas/deleted-name.ts'
import type { Overview, OverviewQuery } from '../../../src/schemas/overview.ts'
import type { Onboarding, Status } from '../../../src/schemas/system.ts'
import { pagedQuery, readAll } from './query-client.ts'
import { request, segment, type Page } from './request.ts'

/** How often what the pages of state show is read again, in milliseconds. */
const refreshMs = 5_000

/** @param chosen  what tells it from other overviews
 *  @param queryAt  the question at a time, in milliseconds since 1970: a range up to now moves */
export const overviewQuery = (chosen: object, queryAt: (now: number) => OverviewQuery) =>
  queryOptions({
    queryKey: ['overview', chosen],
    queryFn: ({ signal }) => request<Overview>('GET', '/overview', { query: { ...queryAt(Date.now()) }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  })

export const activityQuery = queryOptions({
  queryKey: ['activity'],
  queryFn: ({ signal }) => request<Activity>('GET', '/activity', { signal }),
  refetchInterval: refreshMs,
})

export const onboardingQuery = queryOptions({
  queryKey: ['onboarding'],
  queryFn: ({ signal }) => request<Onboarding>('GET', '/onboarding', { signal }),
})

/** The server looks at its parts for 2 seconds at most; later it counts as gone, in milliseconds. */
const statusLimitMs = 6_000

/** How often a server that is gone is looked for, in milliseconds. */
const lookAgainMs = 2_000

/** How the server and its parts do; while it answers, the app is connected. */
export const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: ({ signal }) => request<Status>('GET', '/status', { signal, limitMs: statusLimitMs, isUrgent: true }),
  refetchInterval: ({ state }) => (state.error === null ? refreshMs : lookAgainMs),
})

export const auditLogQuery = (filter: AuditFilter) =>
  pagedQuery<AuditEntry>(['audit-log'], '/audit-log', { ...filter, limit: 50 })

/** Most ids in one question about deleted things. */
const maxDeletedIds = 100

/** What deleted things were called. @param ids  of those, and of others: the first of them are asked for */
export function deletedNamesQuery(ids: readonly string[]) {
  const asked = [...new Set(ids)].sort().slice(0, maxDeletedIds)
  return queryOptions({
    queryKey: ['deleted-names', asked],
    queryFn: async ({ signal }) =>
      (await request<Page<DeletedName>>('GET', '/deleted-names', { query: { ids: asked.join(',') }, signal })).items,
    enabled: asked.length > 0,
    placeholderData: keepPreviousData,
    // A name that is kept stays as it is.
    staleTime: 60_000,
  })
}

export const tokensQuery = queryOptions({
  queryKey: ['tokens'],
  queryFn: ({ signal }) => readAll<ApiToken>('/tokens', signal),
})

export const createToken = (body: NewApiToken): Promise<CreatedApiToken> => request('POST', '/tokens', { body })

export const revokeToken = (id: string): Promise<unknown> => request('DELETE', `/tokens/${segment(id)}`)
