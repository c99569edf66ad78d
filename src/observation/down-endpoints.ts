/** Says which endpoints this node holds to be down: to the database for all nodes, and to Prometheus for this one. */

import { randomUUID } from 'node:crypto'
import { Gauge, type Registry } from 'prom-client'
import { writeDownEndpoints, type DownEndpoint } from '../db/endpoint-states.ts'
import type { Database } from '../db/database.ts'
import type { Gate } from '../delivery/gate.ts'
import { createFailureLog } from '../failure-log.ts'
import { writeGathered } from '../gathered-writes.ts'
import type { Logger } from '../logger.ts'

const writePauseMs = 2_000

/** Said again after so many milliseconds, though nothing changed: a node that is silent is taken for lost. */
const repeatMs = 20_000

/** Most endpoints that a node tells of; beyond them those that are down for the longest. */
const maxTold = 1_000

export interface DownEndpointsDependencies {
  database: Database
  gate: Pick<Gate, 'down'>
  /** Endpoints that get events, or probes. */
  endpoints: () => Iterable<{ endpointId: string; destinationId: string }>
  registry: Registry
  logger: Logger
}

/** @returns how to stop; what the node said is taken back then */
export function tellDownEndpoints(dependencies: DownEndpointsDependencies): { stop(): Promise<void> } {
  const { database, gate, endpoints, registry, logger } = dependencies
  const nodeId = randomUUID()
  const failures = createFailureLog(logger, 'endpoint.down_not_written')
  let written = { text: '[]', at: -Infinity }

  const write = async (): Promise<void> => {
    const down = longestDown(gate)
    const text = JSON.stringify(down)
    if (text === written.text && (down.length === 0 || performance.now() - written.at < repeatMs)) return
    try {
      await writeDownEndpoints(database, nodeId, down)
      written = { text, at: performance.now() }
      failures.worked()
    } catch (error) {
      failures.failed(error)
    }
  }

  measure(registry, gate, endpoints)
  const writes = writeGathered(write, writePauseMs)
  return {
    async stop() {
      await writes.end()
      if (written.text !== '[]') await writeDownEndpoints(database, nodeId, []).catch(failures.failed)
    },
  }
}

/** At scrape time: nothing is kept for endpoints that are gone. */
function measure(
  registry: Registry,
  gate: DownEndpointsDependencies['gate'],
  endpoints: DownEndpointsDependencies['endpoints'],
): void {
  new Gauge({
    name: 'postrider_endpoint_down',
    help: 'Whether this node keeps attempts from an endpoint, but for probes: 1 while it is down, otherwise 0',
    labelNames: ['destination_id', 'endpoint_id'],
    registers: [registry],
    collect() {
      this.reset()
      const down = new Set(longestDown(gate).map(({ endpointId }) => endpointId))
      const told = [...endpoints()].sort((a, b) => Number(down.has(b.endpointId)) - Number(down.has(a.endpointId)))
      for (const { endpointId, destinationId } of told.slice(0, maxTold))
        this.set({ destination_id: destinationId, endpoint_id: endpointId }, Number(down.has(endpointId)))
    },
  })
}

const longestDown = (gate: Pick<Gate, 'down'>): DownEndpoint[] =>
  gate
    .down()
    .map(({ endpointId, since, probeInMs }) => ({
      endpointId,
      downSince: since,
      nextProbeAt: probeInMs === 0 ? null : new Date(Math.round((Date.now() + probeInMs) / 1_000) * 1_000),
    }))
    .sort((a, b) => a.downSince.getTime() - b.downSince.getTime())
    .slice(0, maxTold)
