import { queryOptions } from '@tanstack/react-query'
import type { z } from 'zod'
import type { AudiencePatch, NewAudienceSchema, SyncUserOutcome } from '../../../src/schemas/audience.ts'
import { pagedQuery, readAll } from './query-client.ts'
import { answerOf, api, taggedOf, uniqueName } from './request.ts'

export type NewAudience = z.input<typeof NewAudienceSchema>

export const audiencesQuery = queryOptions({
  queryKey: ['audiences'],
  queryFn: ({ signal }) => readAll((query) => api.GET('/audiences', { params: { query }, signal })),
})

export const audienceQuery = (id: string) =>
  queryOptions({
    queryKey: ['audiences', id],
    queryFn: ({ signal }) => taggedOf(api.GET('/audiences/{id}', { params: { path: { id } }, signal })),
  })

export const syncsQuery = (id: string) =>
  pagedQuery(['audiences', id, 'syncs'], (cursor, signal) =>
    api.GET('/audiences/{id}/syncs', { params: { path: { id }, query: { limit: 20, cursor } }, signal }),
  )

/** Which of a sync's users. */
export interface SyncUsersFilter {
  /** How their ids begin; empty: all. */
  search: string
  outcome?: SyncUserOutcome
}

/** Whom a sync told what, and what became of it. */
export const syncUsersQuery = (id: string, syncId: string, filter: SyncUsersFilter) =>
  pagedQuery(['audiences', id, 'sync-users', syncId, filter], (cursor, signal) => {
    const params = { path: { id, syncId }, query: { ...filter, limit: 50, cursor } }
    return api.GET('/audiences/{id}/syncs/{syncId}/users', { params, signal })
  })

/** Members whose user id begins with `search`. */
export const membersQuery = (id: string, search: string) =>
  pagedQuery(['audiences', id, 'members', search], (cursor, signal) =>
    api.GET('/audiences/{id}/members', { params: { path: { id }, query: { search, limit: 50, cursor } }, signal }),
  )

export const createAudience = (body: NewAudience) =>
  answerOf(api.POST('/audiences', { params: { query: uniqueName }, body }))

/** @param ifMatch  refuses it when somebody changed since what it would overwrite */
export const changeAudience = (id: string, body: AudiencePatch, ifMatch: string | null) =>
  taggedOf(
    api.PATCH('/audiences/{id}', {
      params: { path: { id }, query: uniqueName },
      headers: { 'if-match': ifMatch },
      body,
    }),
  )

/** @param notify  destinations are told first that its members no longer belong to it */
export const deleteAudience = (id: string, notify: boolean) =>
  answerOf(api.DELETE('/audiences/{id}', { params: { path: { id }, query: { notify: notify ? 'true' : 'false' } } }))

/** Sends what changed (`sync`), or every member anew (`resync`). */
export const startSync = (id: string, kind: 'sync' | 'resync') =>
  answerOf(api.POST(`/audiences/{id}/${kind}`, { params: { path: { id } } }))

/** What the next sync would send; with a file, what its upload would. */
export async function previewSync(id: string, file: File | null) {
  await expectUnchanged(file)
  return answerOf(api.POST('/audiences/{id}/preview', { params: { path: { id } }, ...(file !== null && bodyOf(file)) }))
}

export const setAudiencePaused = (id: string, paused: boolean) =>
  answerOf(api.POST(paused ? '/audiences/{id}/pause' : '/audiences/{id}/resume', { params: { path: { id } } }))

export const steerSync = (id: string, syncId: string, action: 'confirm' | 'stop' | 'undo') =>
  answerOf(api.POST(`/audiences/{id}/syncs/{syncId}/${action}`, { params: { path: { id, syncId } } }))

/** A file as it is. */
const bodyOf = (file: File) => ({
  body: '',
  bodySerializer: () => file,
  headers: { 'content-type': /\.csv$/i.test(file.name) ? 'text/csv' : 'application/x-ndjson' },
})

/** Takes a CSV or NDJSON file as the whole membership. */
export async function uploadMembers(id: string, file: File) {
  await expectUnchanged(file)
  return answerOf(api.PUT('/audiences/{id}/members', { params: { path: { id } }, ...bodyOf(file) }))
}

/** @throws when it is not as it was chosen any more: a browser gives nothing of such a file */
async function expectUnchanged(file: File | null): Promise<void> {
  try {
    await file?.slice(0, 1).arrayBuffer()
  } catch {
    throw new Error(
      'Nothing was sent, since the file was changed, moved or deleted after it was chosen: choose it again',
    )
  }
}
