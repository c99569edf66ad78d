import { queryOptions } from '@tanstack/react-query'
import type { NewSource, RotateKey, Source, SourcePatch } from '../../../src/schemas/source.ts'
import { readAll } from './query-client.ts'
import { request, segment, uniqueName } from './request.ts'

export const sourcesQuery = queryOptions({
  queryKey: ['sources'],
  queryFn: ({ signal }) => readAll<Source>('/sources', signal),
})

export const sourceQuery = (id: string) =>
  queryOptions({
    queryKey: ['sources', id],
    queryFn: ({ signal }) => request<Source>('GET', `/sources/${segment(id)}`, { signal }),
  })

export const createSource = (body: NewSource): Promise<Source> =>
  request('POST', '/sources', { body, query: uniqueName })

export const changeSource = (id: string, body: SourcePatch): Promise<Source> =>
  request('PATCH', `/sources/${segment(id)}`, { body, query: uniqueName })

export const deleteSource = (id: string): Promise<unknown> => request('DELETE', `/sources/${segment(id)}`)

export const rotateWriteKey = (id: string, body: RotateKey): Promise<Source> =>
  request('POST', `/sources/${segment(id)}/rotate-key`, { body })

export const endPreviousKeys = (id: string): Promise<Source> =>
  request('DELETE', `/sources/${segment(id)}/previous-keys`)
