import { queryOptions } from '@tanstack/react-query'
import type {
  Alert,
  AlertChannel,
  AlertChannelPatch,
  AlertChannelTest,
  AlertPreview,
  AlertRules,
  NewAlertChannel,
} from '../../../src/schemas/alert.ts'
import { pagedQuery } from './query-client.ts'
import { request, segment } from './request.ts'

/** How often alerts are read again, in milliseconds. */
const refreshMs = 5_000

export const alertsQuery = {
  ...pagedQuery<Alert>(['alerts', 'list'], '/alerts', { limit: 50 }),
  refetchInterval: refreshMs,
}

export const alertRulesQuery = queryOptions({
  queryKey: ['alerts', 'rules'],
  queryFn: ({ signal }) => request<AlertRules>('GET', '/alert-rules', { signal }),
})

/** What would be open now. @param rules  as JSON */
export const alertPreviewQuery = (rules: string) =>
  queryOptions({
    queryKey: ['alerts', 'preview', rules],
    queryFn: ({ signal }) =>
      request<AlertPreview>('POST', '/alert-rules/preview', { body: JSON.parse(rules) as unknown, signal }),
  })

export const alertChannelsQuery = queryOptions({
  queryKey: ['alerts', 'channels'],
  queryFn: ({ signal }) => request<{ items: AlertChannel[] }>('GET', '/alert-channels', { signal }),
  refetchInterval: refreshMs,
})

export const muteAlert = (id: string, seconds: number): Promise<Alert> =>
  request('POST', `/alerts/${segment(id)}/mute`, { body: { seconds } })

export const saveAlertRules = (body: AlertRules): Promise<AlertRules> => request('PUT', '/alert-rules', { body })

export const createAlertChannel = (body: NewAlertChannel): Promise<AlertChannel> =>
  request('POST', '/alert-channels', { body })

export const updateAlertChannel = (id: string, body: AlertChannelPatch): Promise<AlertChannel> =>
  request('PATCH', `/alert-channels/${segment(id)}`, { body })

export const testAlertChannel = (id: string): Promise<AlertChannelTest> =>
  request('POST', `/alert-channels/${segment(id)}/test`)

export const deleteAlertChannel = (id: string): Promise<unknown> => request('DELETE', `/alert-channels/${segment(id)}`)
