/** How the installation stands, for Prometheus: read when it asks, and at most every few seconds. */

import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { countOpenAlerts } from '../db/alerts.ts'
import { countHeld } from '../db/destination-holds.ts'
import { countOldestFor, oldestInInboxSeconds } from '../db/inbox-count.ts'
import { inboxDepth } from '../db/inbox.ts'
import { openStatuses, type OpenStatus } from '../db/parcel-statuses.ts'
import { within } from '../within.ts'

/** How long a figure counts that was read, and how long reading it may take, in milliseconds. */
const freshMs = 5_000
const limitMs = 2_000

export interface StateMetricsDependencies {
  database: Database
  registry: Registry
  /** Deliveries under way; `waiting` are those that would be retried, but for a destination that is down. */
  countDeliveries: () => Promise<Record<OpenStatus | 'waiting', number>>
  /** Destinations of which every endpoint is down. */
  downDestinations: () => string[]
  /** Number of the settings in force; undefined before they were read. */
  settingsVersion: () => string | undefined
}

/** Adds the figures. One that cannot be read in time is left out: Temporal or the database is away. */
export function measureState(dependencies: StateMetricsDependencies): void {
  const { database, registry, countDeliveries, downDestinations, settingsVersion } = dependencies

  const gauge = (name: string, help: string, read: () => Promise<number | undefined> | number | undefined): void => {
    const readFresh = remembered(async () => read())
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        setOrRemove(this, {}, await readFresh())
      },
    })
  }

  gauge('postrider_inbox_events', 'Events that wait in the inbox, of all nodes', () => inboxDepth(database))
  gauge('postrider_inbox_oldest_seconds', 'Age of the event that waits longest in the inbox', () =>
    oldestInInboxSeconds(database),
  )
  gauge(
    'postrider_inbox_events_at_down_endpoints',
    'Of the 10,000 oldest events in the inbox those whose endpoints are all down',
    () => countOldestFor(database, downDestinations()),
  )
  gauge('postrider_destinations_held', 'Destinations that are held because every endpoint of theirs fails', () =>
    countHeld(database),
  )
  gauge('postrider_alerts_open', 'Alerts that are open', () => countOpenAlerts(database))
  gauge('postrider_settings_version', 'Number of the settings in force on this node', () => {
    const version = settingsVersion()
    return version === undefined ? undefined : Number(version)
  })

  const readCounts = remembered(countDeliveries)
  new Gauge({
    name: 'postrider_deliveries',
    help: 'Deliveries under way, of all nodes',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      const counts = await readCounts()
      for (const status of [...openStatuses, 'waiting'] as const) setOrRemove(this, { status }, counts?.[status])
    },
  })
  measureConnections(database, registry)
}

function measureConnections(database: Database, registry: Registry): void {
  const states = ['busy', 'idle', 'waiting'] as const
  new Gauge({
    name: 'postrider_database_connections',
    help: 'Connections of this node to the database: busy and idle ones, and callers that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.reset()
      const figures = connectionsOf(database)
      for (const state of states) if (figures !== undefined) this.set({ state }, figures[state])
    },
  })
}

/** None before the database is open. */
function connectionsOf(database: Database): ReturnType<Database['connections']> | undefined {
  try {
    return database.connections()
  } catch {
    return undefined
  }
}

function setOrRemove<Label extends string>(
  gauge: Gauge<Label>,
  labels: Partial<Record<Label, string>>,
  value: number | undefined,
): void {
  if (value === undefined) gauge.remove(labels)
  else gauge.set(labels, value)
}

/** Reads at most once in `freshMs`; undefined when it fails or takes too long. */
function remembered<Value>(read: () => Promise<Value>): () => Promise<Value | undefined> {
  let last: { at: number; value: Promise<Value | undefined> } | undefined
  return () => {
    if (last === undefined || performance.now() - last.at > freshMs)
      last = { at: performance.now(), value: within(limitMs, 'it', read()).catch(() => undefined) }
    return last.value
  }
}
