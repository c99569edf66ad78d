import { queryOptions } from '@tanstack/react-query'
import type { z } from 'zod'
import type { DestinationPatch, DestinationView, NewDestinationSchema } from '../../../src/schemas/destination.ts'
import type { MessageType } from '../../../src/schemas/message.ts'
import type { Rehearsal } from '../../../src/schemas/rehearsal.ts'
import type { CatalogItem } from '../../../src/schemas/system.ts'
import type { DraftTestRequest, EndpointTest } from '../../../src/schemas/endpoint-test.ts'
import { readAll } from './query-client.ts'
import { request, requestTagged, segment, type Tagged, uniqueName } from './request.ts'

export type NewDestination = z.input<typeof NewDestinationSchema>

export const destinationsQuery = queryOptions({
  queryKey: ['destinations'],
  queryFn: ({ signal }) => readAll<DestinationView>('/destinations', signal),
})

export const destinationQuery = (id: string) =>
  queryOptions({
    queryKey: ['destinations', id],
    queryFn: ({ signal }) => requestTagged<DestinationView>('GET', `/destinations/${segment(id)}`, { signal }),
  })

export const createDestination = (body: NewDestination): Promise<DestinationView> =>
  request('POST', '/destinations', { body, query: uniqueName })

/** @param ifMatch  refuses it when somebody changed since what it would overwrite */
export const changeDestination = (
  id: string,
  body: DestinationPatch,
  ifMatch: string | null = null,
): Promise<Tagged<DestinationView>> =>
  requestTagged('PATCH', `/destinations/${segment(id)}`, { body, ifMatch, query: uniqueName })

export const deleteDestination = (id: string): Promise<unknown> => request('DELETE', `/destinations/${segment(id)}`)

/** What a draft would have made of the newest events. @param draft  a filter or a mapping, as JSON */
export const rehearsalQuery = (id: string, draft: string) =>
  queryOptions({
    queryKey: ['rehearsal', id, draft],
    queryFn: ({ signal }) =>
      request<Rehearsal>('POST', `/destinations/${segment(id)}/rehearse`, {
        body: JSON.parse(draft) as unknown,
        signal,
      }),
    retry: false,
  })

/** Sends a sample event of `type` to every endpoint, now. */
export const testDestination = (id: string, type: MessageType): Promise<EndpointTest> =>
  request('POST', `/destinations/${segment(id)}/test`, { body: { type } })

/** Sends a sample event to endpoints as they are typed. */
export const testDraft = (body: DraftTestRequest): Promise<EndpointTest> =>
  request('POST', '/destinations/test', { body })

export const catalogQuery = queryOptions({
  queryKey: ['catalog'],
  queryFn: ({ signal }) => readAll<CatalogItem>('/catalog', signal),
  staleTime: Infinity,
})
