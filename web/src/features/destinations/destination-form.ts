/** A destination as the forms hold it, and back to what the API takes. */

import type { Destination, DestinationPatch, WebhookInput } from '../../../../src/schemas/destination.ts'
import type { EndpointOptions } from '../../../../src/schemas/endpoint-options.ts'
import type { DraftTestRequest } from '../../../../src/schemas/endpoint-test.ts'
import type { RetryPauses } from '../../../../src/schemas/retry-options.ts'
import type { NewDestination } from '../../api/destinations.ts'

/** Most endpoints of a destination. */
export const maxEndpoints = 5

export interface HeaderValues {
  key: string
  name: string
  value: string
}

export interface EndpointValues {
  key: string
  id?: string
  url: string
  headers: HeaderValues[]
  options: OptionValues
}

/** For how long an event is retried, and when; empty: as the node or the destination has it. */
export interface RetryValues {
  retryWindowHours: number | ''
  retryPauses: { firstSeconds: number | ''; maxSeconds: number | '' }
}

/** Bounds are empty where there are none. */
export interface OptionValues extends Omit<EndpointOptions, Bound | keyof RetryValues>, RetryValues {
  maxPerSecond: number | ''
  maxConcurrent: number | ''
}
type Bound = 'maxPerSecond' | 'maxConcurrent'

export interface DestinationValues extends RetryValues {
  name: string
  sourceIds: string[]
  /** Name of a source that is not created yet. */
  newSource: string
  successPolicy: 'any' | 'all'
  onFailing: 'retry' | 'hold'
  /** After how many minutes of failure it is held. */
  holdAfterMinutes: number | string
  /** For how many seconds an event waits for those before it of the same user; empty: for none. */
  orderWaitSeconds: number | ''
  webhooks: EndpointValues[]
  /** Empty: none is set, or it stays as it is. */
  sharedSecret: string
  /** How long the replaced secret goes on signing, in seconds; as text, for a choice. */
  secretOverlapSeconds: string
}

const noPauses: RetryValues['retryPauses'] = { firstSeconds: '', maxSeconds: '' }

/** Of endpoints that say nothing else. */
const usualOptions: OptionValues = {
  method: 'POST',
  contentType: 'json',
  timeoutSeconds: 5,
  successStatuses: [],
  maxPerSecond: '',
  maxConcurrent: '',
  retryWindowHours: '',
  retryPauses: noPauses,
}

/** Whether requests are made as to most endpoints. */
export const isUsual = (options: OptionValues): boolean =>
  Object.entries(usualOptions).every(
    ([name, value]) => JSON.stringify(options[name as keyof OptionValues]) === JSON.stringify(value),
  )

const defaultOverlapSeconds = '86400'

// Rows of a draft that is read again have keys of before.
let lastKey = Date.now()
/** Rows keep their place in the page while others come and go. */
export const nextKey = (): string => `row-${++lastKey}`

export const emptyHeader = (): HeaderValues => ({ key: nextKey(), name: '', value: '' })
export const emptyEndpoint = (): EndpointValues => ({ key: nextKey(), url: '', headers: [], options: usualOptions })

export const emptyDestination = (): DestinationValues => ({
  name: 'Webhooks',
  sourceIds: [],
  newSource: '',
  successPolicy: 'any',
  onFailing: 'retry',
  holdAfterMinutes: 5,
  retryWindowHours: '',
  retryPauses: noPauses,
  orderWaitSeconds: '',
  webhooks: [emptyEndpoint()],
  sharedSecret: '',
  secretOverlapSeconds: defaultOverlapSeconds,
})

export const toValues = ({ settings, ...destination }: Destination): DestinationValues => ({
  name: destination.name,
  sourceIds: destination.sourceIds,
  newSource: '',
  successPolicy: destination.successPolicy,
  onFailing: destination.onFailing,
  holdAfterMinutes: destination.holdAfterSeconds / 60,
  retryWindowHours: destination.retryWindowHours ?? '',
  retryPauses: destination.retryPauses ?? noPauses,
  orderWaitSeconds: destination.orderPerUser?.maxWaitSeconds ?? '',
  webhooks: settings.webhooks.map(({ id, url, headers, ...options }) => ({
    // The same when it is saved: the field that somebody types in stays, and with it the focus.
    key: id,
    id,
    url,
    headers: Object.entries(headers).map(([header, value], row) => ({ key: `${id}-${row}`, name: header, value })),
    options: {
      ...usualOptions,
      ...options,
      successStatuses: (options.successStatuses ?? []).map(String),
    } as OptionValues,
  })),
  sharedSecret: '',
  secretOverlapSeconds: defaultOverlapSeconds,
})

/** Where one of the pauses is missing the server says so. */
const toRetry = ({ retryWindowHours, retryPauses: { firstSeconds, maxSeconds } }: RetryValues) => ({
  retryWindowHours: retryWindowHours === '' ? null : retryWindowHours,
  retryPauses:
    firstSeconds === '' && maxSeconds === ''
      ? null
      : ({ firstSeconds: firstSeconds || undefined, maxSeconds: maxSeconds || undefined } as RetryPauses),
})

const toWebhook = ({ id, url, headers, options }: EndpointValues): WebhookInput => ({
  ...(id !== undefined && { id }),
  url: url.trim(),
  ...options,
  successStatuses: options.successStatuses.map((status) => (/^\d+$/.test(String(status)) ? Number(status) : status)),
  maxPerSecond: options.maxPerSecond === '' ? null : options.maxPerSecond,
  maxConcurrent: options.maxConcurrent === '' ? null : options.maxConcurrent,
  ...toRetry(options),
  headers: Object.fromEntries(
    headers.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]),
  ),
})

const toFailing = ({ onFailing, holdAfterMinutes, orderWaitSeconds, ...values }: DestinationValues) => ({
  onFailing,
  ...toRetry(values),
  orderPerUser: orderWaitSeconds === '' ? null : { maxWaitSeconds: orderWaitSeconds },
  ...(onFailing === 'hold' && { holdAfterSeconds: Math.round(Number(holdAfterMinutes) * 60) }),
})

const toSecret = ({ sharedSecret }: DestinationValues) => (sharedSecret === '' ? {} : { sharedSecret })

const toSettings = (values: DestinationValues) => ({
  ...toSecret(values),
  webhooks: values.webhooks.filter(({ url }) => url.trim() !== '').map(toWebhook),
})

/** One endpoint as it is typed, to be tried out. */
export const toDraft = (values: DestinationValues, endpoint: EndpointValues): DraftTestRequest['settings'] => ({
  ...toSecret(values),
  webhooks: [toWebhook(endpoint)],
})

/** A destination that is not switched on yet. */
export const toNewDestination = (values: DestinationValues): NewDestination => ({
  name: values.name,
  type: 'webhooks',
  enabled: false,
  successPolicy: values.successPolicy,
  ...toFailing(values),
  sourceIds: values.sourceIds,
  settings: toSettings({ ...values, webhooks: values.webhooks.map(withoutId) }),
})

/** Ids are those of a destination that is no longer there. */
const withoutId = ({ id: _, ...webhook }: EndpointValues): EndpointValues => webhook

export const toPatch = (values: DestinationValues): DestinationPatch => ({
  name: values.name,
  successPolicy: values.successPolicy,
  ...toFailing(values),
  sourceIds: values.sourceIds,
  settings: {
    ...toSettings(values),
    ...(values.sharedSecret !== '' && { secretOverlapSeconds: Number(values.secretOverlapSeconds) }),
  },
})

/** What the forms call the members of a destination. */
export const labels: Record<Exclude<keyof DestinationPatch, 'enabled' | 'paused' | 'settings'>, string> &
  Record<'settings.webhooks', string> = {
  name: 'Name',
  sourceIds: 'Sources',
  'settings.webhooks': 'Endpoints',
  successPolicy: 'When is an event delivered?',
  onFailing: 'What becomes of deliveries while every endpoint fails?',
  holdAfterSeconds: 'Hold after so many minutes of failure',
  retryWindowHours: 'Retry window',
  retryPauses: 'First pause and longest pause',
  orderPerUser: "Keep the order of each user's events",
  filter: 'Filter',
  mapping: 'Mapping',
}

/** The form's field for a member of the body that the server found wrong. */
export function fieldOf(path: string, { webhooks }: DestinationValues): string | undefined {
  if (path === 'holdAfterSeconds') return 'holdAfterMinutes'
  if (path.startsWith('orderPerUser')) return 'orderWaitSeconds'
  if (path.startsWith('sourceIds[')) return 'sourceIds'
  const [, index, member] = /^settings\.webhooks\[(\d+)\](?:\.(.+))?$/.exec(path) ?? []
  if (index === undefined) return path.startsWith('settings.') ? path.slice('settings.'.length) : path
  const [option = ''] = member?.split('[') ?? []
  if ((option.split('.')[0] ?? '') in usualOptions) return `webhooks.${index}.options.${option}`
  const header = member?.startsWith('headers.') === true ? member.slice('headers.'.length) : undefined
  const row = webhooks[Number(index)]?.headers.findIndex(({ name }) => name.trim() === header) ?? -1
  return row === -1 ? `webhooks.${index}.url` : `webhooks.${index}.headers.${row}.name`
}

const secretBytes = 32

/** A secret that nobody can guess. */
export function generateSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(secretBytes))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
