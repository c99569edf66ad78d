/** What intake and deliveries both know of the endpoints: which take attempts now, and how many events are on their way there. */

import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { readDownEndpoints } from '../db/endpoint-states.ts'
import { createGate, gatedEndpoint, type Gate } from '../delivery/gate.ts'
import { boundsText } from '../delivery/set-bounds.ts'
import { gateBounds } from '../delivery/gate-bounds.ts'
import { createParcelLoad, type ParcelLoad } from '../delivery/parcel-load.ts'
import { runRecovery, type Recovery } from '../delivery/recovery.ts'
import type { Readiness } from '../intake/inbox-turns.ts'
import { keepLooking } from '../keep-looking.ts'
import type { Logger } from '../logger.ts'
import type { Settings } from '../settings/settings.ts'
import type { StoredDestination } from '../db/stored-destination.ts'
import type { Temporal } from '../temporal/connection.ts'
import { wakeActivity } from '../temporal/wake-activity.ts'

type Endpoint = StoredDestination['settings']['webhooks'][number]

export interface GateServices {
  gate: Gate
  recovery: Recovery
  parcelLoad: ParcelLoad
  /** Whether the endpoints of some destinations take attempts now. */
  readiness: (destinationIds: readonly string[]) => Readiness
  /** Why the endpoints of some destinations take no attempt now, in words, where it is for their bounds. */
  boundsReason: (destinationIds: readonly string[]) => string | undefined
  stop(): Promise<void>
}

export interface GateServicesDependencies {
  config: Pick<Config, 'retry' | 'roles'>
  database: Database
  settings: Settings
  temporal: Temporal
  logger: Logger
}

export function composeGate(dependencies: GateServicesDependencies): GateServices {
  const { config, settings, temporal } = dependencies
  const gate = createGate(gateBounds(config.retry))
  const recovery = runRecovery({ gate, wake: (waiting) => wakeActivity(temporal, waiting) })
  const standings = config.roles.worker ? ownStandings(gate, recovery) : toldStandings(dependencies)
  const endpointsOf = (destinationIds: readonly string[]): Endpoint[] =>
    destinationIds.flatMap((id) => settings.destination(id)?.settings.webhooks ?? [])
  const readiness = (destinationIds: readonly string[]): Readiness => {
    const endpoints = endpointsOf(destinationIds)
    return endpoints.length === 0 ? 'open' : standings.readiness(endpoints)
  }
  const boundsReason = (destinationIds: readonly string[]): string | undefined => {
    const full = endpointsOf(destinationIds).find(({ id }) => gate.isBounded(id) && gate.isShut(id))
    if (full === undefined) return undefined
    const { maxPerSecond, maxConcurrent } = gatedEndpoint(full)
    return `not attempted: ${boundsText({ maxPerSecond, maxConcurrent })}`
  }
  return {
    gate,
    recovery,
    parcelLoad: createParcelLoad(),
    readiness,
    boundsReason,
    stop: async () => void (await Promise.all([standings.stop(), recovery.stop()])),
  }
}

interface Standings {
  /** @param endpoints  at least one */
  readiness: (endpoints: readonly Endpoint[]) => Readiness
  stop(): Promise<void>
}

/** What this node's own attempts tell. */
const ownStandings = (gate: Gate, recovery: Pick<Recovery, 'hasProbers'>): Standings => ({
  readiness(endpoints) {
    for (const endpoint of endpoints) gate.forgetMoved(gatedEndpoint(endpoint))
    const passable = endpoints.filter(({ id }) => !gate.isShut(id))
    const up = passable.filter(({ id }) => gate.closedSince(id) === undefined)
    if (up.some(({ id }) => gate.isAnswering(id))) return 'open'
    if (up.length > 0 && endpoints.some(({ id }) => gate.isUnheard(id))) return 'shut'
    if (up.some(({ id }) => !gate.isHanging(id))) return 'trial'
    if (passable.some(({ id }) => !recovery.hasProbers(id))) return 'probe'
    return endpoints.some(({ id }) => gate.isBounded(id)) ? 'full' : 'shut'
  },
  stop: async () => {},
})

/** What the nodes that deliver say, read again and again, for a node that makes no attempts. */
function toldStandings({ database, logger }: GateServicesDependencies): Standings {
  let down = new Set<string>()
  const look = async (): Promise<void> => {
    down = new Set(await readDownEndpoints(database))
  }
  const reads = keepLooking({ look, failure: 'endpoint.down_not_read', logger })
  return {
    readiness: (endpoints) => (endpoints.every(({ id }) => down.has(id)) ? 'shut' : 'open'),
    stop: () => reads.stop(),
  }
}
