import { queryOptions } from '@tanstack/react-query'
import type { AlertChannelPatch, AlertRules, NewAlertChannel } from '../../../src/schemas/alert.ts'
import { pagedQuery } from './query-client.ts'
import { answerOf, api, taggedOf } from './request.ts'

/** How often alerts are read again, in milliseconds. */
const refreshMs = 5_000

export const alertsQuery = {
  ...pagedQuery(['alerts', 'list'], (cursor, signal) =>
    api.GET('/alerts', { params: { query: { limit: 50, cursor } }, signal }),
  ),
  refetchInterval: refreshMs,
}

export const alertRulesQuery = queryOptions({
  queryKey: ['alerts', 'rules'],
  queryFn: ({ signal }) => taggedOf(api.GET('/alert-rules', { signal })),
})

/** What would be open now. @param rules  as JSON */
export const alertPreviewQuery = (rules: string) =>
  queryOptions({
    queryKey: ['alerts', 'preview', rules],
    queryFn: ({ signal }) =>
      answerOf(api.POST('/alert-rules/preview', { body: JSON.parse(rules) as AlertRules, signal })),
  })

export const alertChannelsQuery = queryOptions({
  queryKey: ['alerts', 'channels'],
  queryFn: ({ signal }) => answerOf(api.GET('/alert-channels', { signal })),
  refetchInterval: refreshMs,
})

/** To be changed: it is read anew each time. */
export const alertChannelQuery = (id: string) =>
  queryOptions({
    queryKey: ['alerts', 'channels', id],
    queryFn: ({ signal }) => taggedOf(api.GET('/alert-channels/{id}', { params: { path: { id } }, signal })),
    staleTime: 0,
    gcTime: 0,
  })

export const muteAlert = (id: string, seconds: number) =>
  answerOf(api.POST('/alerts/{id}/mute', { params: { path: { id } }, body: { seconds } }))

/** @param ifMatch  refuses them when somebody changed since what they would overwrite; null: does not */
export const saveAlertRules = (body: AlertRules, ifMatch: string | null) =>
  taggedOf(api.PUT('/alert-rules', { headers: { 'if-match': ifMatch }, body }))

export const createAlertChannel = (body: NewAlertChannel) => answerOf(api.POST('/alert-channels', { body }))

/** @param ifMatch  refuses it when somebody changed since what it would overwrite; null: does not */
export const updateAlertChannel = (id: string, body: AlertChannelPatch, ifMatch: string | null) =>
  answerOf(api.PATCH('/alert-channels/{id}', { params: { path: { id } }, headers: { 'if-match': ifMatch }, body }))

export const testAlertChannel = (id: string) =>
  answerOf(api.POST('/alert-channels/{id}/test', { params: { path: { id } } }))

export const deleteAlertChannel = (id: string) =>
  answerOf(api.DELETE('/alert-channels/{id}', { params: { path: { id } } }))
