import { queryOptions } from '@tanstack/react-query'
import type { NewSource, RotateKey, SourcePatch } from '../../../src/schemas/source.ts'
import { readAll } from './query-client.ts'
import { answerOf, api, taggedOf, uniqueName } from './request.ts'

export const sourcesQuery = queryOptions({
  queryKey: ['sources'],
  queryFn: ({ signal }) => readAll((query) => api.GET('/sources', { params: { query }, signal })),
})

export const sourceQuery = (id: string) =>
  queryOptions({
    queryKey: ['sources', id],
    queryFn: ({ signal }) => taggedOf(api.GET('/sources/{id}', { params: { path: { id } }, signal })),
  })

export const createSource = (body: NewSource) => answerOf(api.POST('/sources', { params: { query: uniqueName }, body }))

/** @param ifMatch  refuses it when somebody changed since what it would overwrite; null: does not */
export const changeSource = (id: string, body: SourcePatch, ifMatch: string | null = null) =>
  taggedOf(
    api.PATCH('/sources/{id}', {
      params: { path: { id }, query: uniqueName },
      headers: { 'if-match': ifMatch },
      body,
    }),
  )

export const deleteSource = (id: string) => answerOf(api.DELETE('/sources/{id}', { params: { path: { id } } }))

export const rotateWriteKey = (id: string, body: RotateKey) =>
  answerOf(api.POST('/sources/{id}/rotate-key', { params: { path: { id } }, body }))

export const endPreviousKeys = (id: string) =>
  answerOf(api.DELETE('/sources/{id}/previous-keys', { params: { path: { id } } }))

/** Where the events of a source come as they come in. */
export const liveEventsUrl = (id: string): string => `/api/v1/sources/${encodeURIComponent(id)}/live`

/** Why that stream is refused, which the browser does not tell who opens one; undefined when it is not. */
export async function liveEventsRefusal(id: string): Promise<Error | undefined> {
  const end = new AbortController()
  try {
    const call = { params: { path: { id } }, parseAs: 'stream', signal: end.signal } as const
    await answerOf(api.GET('/sources/{id}/live', call))
    return undefined
  } catch (error) {
    return error as Error
  } finally {
    end.abort()
  }
}
