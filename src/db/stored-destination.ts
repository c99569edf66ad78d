/** A destination as the database has it: read for those who look at it, and with its secrets for those who deliver to it. */

import type { Destination } from '../schemas/destination.ts'
import type { DifferingOptions } from '../schemas/endpoint-options.ts'
import type { Filter } from '../schemas/filter.ts'
import type { Mapping } from '../schemas/mapping.ts'
import type { SecretBox } from '../secrets.ts'
import { positionSql } from './page.ts'

export interface EndpointRow {
  id: string
  url: string
  headers_encrypted: string
  options: DifferingOptions
}

export interface DestinationRow {
  id: string
  name: string
  type: 'webhooks'
  enabled: boolean
  success_policy: 'any' | 'all'
  on_failing: 'retry' | 'hold'
  hold_after_seconds: number
  retry_window_hours: number | null
  retry_pauses: Destination['retryPauses']
  order_wait_seconds: number | null
  filter: Filter | null
  mapping_id: string | null
  mapping: Mapping | null
  shared_secret_encrypted: string | null
  previous_secret_encrypted: string | null
  previous_secret_until: Date | null
  paused_at: Date | null
  paused_total_ms: string
  /** Since when its endpoints failed, where the program paused it. */
  held_since_failing: Date | null
  created_at: Date
  updated_at: Date
  source_ids: string[]
  endpoints: EndpointRow[]
}

/** A destination as deliveries need it: with its secrets in clear. Secrets and headers are opened when they are first looked
 *  at, and that throws where the key ring has no key for them. */
export interface StoredDestination extends Destination {
  /** Why its secrets or headers cannot be opened; undefined when they can. */
  unreadableReason: string | undefined
  /** Secrets that sign, newest first; the older one until its time is over. */
  secrets: { secret: string; until: Date | null }[]
  /** Names the version of its mapping that is in force; null for none. */
  mappingId: string | null
  /** Since when it is paused; null when it is not. */
  pausedAt: Date | null
  /** Milliseconds it was paused in earlier pauses. */
  pausedTotalMs: number
}

type Webhooks = Destination['settings']['webhooks']

/** Reads `DestinationRow`s; a condition on `d`, the destination, may follow. */
export const selectDestinations = `
  select d.*, ${positionSql},
    case when d.held_at = d.paused_at then d.held_failing_since end as held_since_failing,
    (select mapping from mappings m where m.destination_id = d.id and m.id = d.mapping_id) as mapping,
    (select coalesce(array_agg(source_id order by source_id), '{}') from destination_sources s
     where s.destination_id = d.id) as source_ids,
    (select coalesce(json_agg(json_build_object('id', e.id, 'url', e.url, 'headers_encrypted', e.headers_encrypted,
       'options', e.options) order by e.position), '[]') from endpoints e where e.destination_id = d.id) as endpoints
  from destinations d`

/** For those who look at it. Headers that cannot be opened are shown as none: the destination can then be looked at, and its
 *  headers set anew. */
export function toDestination(row: DestinationRow, secrets: SecretBox): Destination {
  const webhooks = row.endpoints.map(({ id, url, headers_encrypted, options }) => ({
    ...options,
    id,
    url,
    headers: shownHeaders(headers_encrypted, secrets),
  }))
  return describe(row, webhooks)
}

/** For those who deliver to it. */
export function toStored(row: DestinationRow, secrets: SecretBox): StoredDestination {
  const webhooks = row.endpoints.map((endpoint) => openedLater(endpoint, secrets))
  const signing = onFirstUse(() => openSecrets(row, secrets))
  const unreadableReason = onFirstUse(() =>
    reasonWhyNot(() => {
      signing()
      webhooks.forEach(({ headers }) => headers)
    }),
  )
  return {
    ...describe(row, webhooks),
    get secrets() {
      return signing()
    },
    get unreadableReason() {
      return unreadableReason()
    },
    mappingId: row.mapping_id,
    pausedAt: row.paused_at,
    pausedTotalMs: Number(row.paused_total_ms),
  }
}

const describe = (row: DestinationRow, webhooks: Webhooks): Destination => ({
  id: row.id,
  name: row.name,
  type: row.type,
  enabled: row.enabled,
  paused: row.paused_at !== null,
  successPolicy: row.success_policy,
  onFailing: row.on_failing,
  holdAfterSeconds: row.hold_after_seconds,
  retryWindowHours: row.retry_window_hours,
  retryPauses: row.retry_pauses,
  orderPerUser: row.order_wait_seconds === null ? null : { maxWaitSeconds: row.order_wait_seconds },
  held: heldOf(row),
  sourceIds: row.source_ids,
  filter: row.filter,
  mapping: row.mapping,
  settings: {
    hasSharedSecret: row.shared_secret_encrypted !== null,
    webhooks,
  },
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})

const heldOf = ({ paused_at, held_since_failing }: DestinationRow): Destination['held'] =>
  paused_at === null || held_since_failing === null
    ? null
    : { since: paused_at.toISOString(), failingSince: held_since_failing.toISOString() }

/** An endpoint whose headers are opened when they are first looked at. */
function openedLater({ id, url, headers_encrypted, options }: EndpointRow, secrets: SecretBox): Webhooks[number] {
  const headers = onFirstUse(() => openHeaders(headers_encrypted, secrets))
  return {
    ...options,
    id,
    url,
    get headers() {
      return headers()
    },
  }
}

function openSecrets(row: DestinationRow, secrets: SecretBox): StoredDestination['secrets'] {
  const { shared_secret_encrypted: current, previous_secret_encrypted: previous, previous_secret_until: until } = row
  return [
    ...(current === null ? [] : [{ secret: secrets.open(current), until: null }]),
    ...(previous === null ? [] : [{ secret: secrets.open(previous), until }]),
  ]
}

const openHeaders = (sealed: string, secrets: SecretBox): Record<string, string> =>
  JSON.parse(secrets.open(sealed)) as Record<string, string>

function shownHeaders(sealed: string, secrets: SecretBox): Record<string, string> {
  try {
    return openHeaders(sealed, secrets)
  } catch {
    return {}
  }
}

function reasonWhyNot(open: () => void): string | undefined {
  try {
    open()
    return undefined
  } catch (error) {
    return `its stored secrets cannot be read: ${(error as Error).message}`
  }
}

function onFirstUse<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => (made ??= { value: make() }).value
}
