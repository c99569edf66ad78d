import { queryOptions } from '@tanstack/react-query'
import type { z } from 'zod'
import type {
  Audience,
  AudienceMember,
  AudiencePatch,
  NewAudienceSchema,
  Preview,
  Sync,
  SyncUser,
  SyncUserOutcome,
} from '../../../src/schemas/audience.ts'
import { pagedQuery, readAll } from './query-client.ts'
import { request, requestTagged, segment, type Tagged, uniqueName } from './request.ts'

export type NewAudience = z.input<typeof NewAudienceSchema>

const path = (id: string, rest = ''): string => `/audiences/${segment(id)}${rest}`

export const audiencesQuery = queryOptions({
  queryKey: ['audiences'],
  queryFn: ({ signal }) => readAll<Audience>('/audiences', signal),
})

export const audienceQuery = (id: string) =>
  queryOptions({
    queryKey: ['audiences', id],
    queryFn: ({ signal }) => requestTagged<Audience>('GET', path(id), { signal }),
  })

export const syncsQuery = (id: string) =>
  pagedQuery<Sync>(['audiences', id, 'syncs'], path(id, '/syncs'), { limit: 20 })

/** Which of a sync's users. */
export interface SyncUsersFilter {
  /** How their ids begin; empty: all. */
  search: string
  outcome?: SyncUserOutcome
}

/** Whom a sync told what, and what became of it. */
export const syncUsersQuery = (id: string, syncId: string, filter: SyncUsersFilter) =>
  pagedQuery<SyncUser>(['audiences', id, 'sync-users', syncId], path(id, `/syncs/${segment(syncId)}/users`), {
    ...filter,
    limit: 50,
  })

/** Members whose user id begins with `search`. */
export const membersQuery = (id: string, search: string) =>
  pagedQuery<AudienceMember>(['audiences', id, 'members'], path(id, '/members'), { search, limit: 50 })

export const createAudience = (body: NewAudience): Promise<Audience> =>
  request('POST', '/audiences', { body, query: uniqueName })

/** @param ifMatch  refuses it when somebody changed since what it would overwrite */
export const changeAudience = (id: string, body: AudiencePatch, ifMatch: string | null): Promise<Tagged<Audience>> =>
  requestTagged('PATCH', path(id), { body, ifMatch, query: uniqueName })

/** @param notify  destinations are told first that its members no longer belong to it */
export const deleteAudience = (id: string, notify: boolean): Promise<unknown> =>
  request('DELETE', path(id), { query: { notify: String(notify) } })

/** Sends what changed (`sync`), or every member anew (`resync`). */
export const startSync = (id: string, kind: 'sync' | 'resync'): Promise<unknown> =>
  request('POST', path(id, `/${kind}`))

/** What the next sync would send; with a file, what its upload would. */
export const previewSync = (id: string, file: File | null): Promise<Preview> =>
  request('POST', path(id, '/preview'), file === null ? {} : { body: file, contentType: contentTypeOf(file) })

export const setAudiencePaused = (id: string, paused: boolean): Promise<unknown> =>
  request('POST', path(id, paused ? '/pause' : '/resume'))

export const steerSync = (id: string, syncId: string, action: 'confirm' | 'stop' | 'undo'): Promise<unknown> =>
  request('POST', path(id, `/syncs/${segment(syncId)}/${action}`))

const contentTypeOf = (file: File): string => (/\.csv$/i.test(file.name) ? 'text/csv' : 'application/x-ndjson')

/** Takes a CSV or NDJSON file as the whole membership. */
export const uploadMembers = (id: string, file: File): Promise<{ syncId: string }> =>
  request('PUT', path(id, '/members'), { body: file, contentType: contentTypeOf(file) })
