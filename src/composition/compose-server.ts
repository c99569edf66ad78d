/** The HTTP server of a node, with what its routes need. */

import type { FastifyInstance } from 'fastify'
import { sessionKeys } from '../access/session.ts'
import { onlyTemporal } from '../availability.ts'
import type { Config } from '../config.ts'
import { createTokenStore } from '../db/tokens.ts'
import { createFirstOutcomes } from '../delivery-log/first-outcomes.ts'
import { createPartLimits } from '../http/management/part-limits.ts'
import { createRequestMetrics } from '../http/request-metrics.ts'
import { buildServer, type Offers, type ServerDependencies } from '../http/server.ts'
import type { IngestPort } from '../ingest/port.ts'
import { createIngestPort } from '../intake/ingest-port.ts'
import { createLiveEvents, type LiveEvents } from '../live/live-events.ts'
import { readiness, workerReadiness } from '../readiness.ts'
import { statusReader } from '../status.ts'
import type { WhilePresent } from '../within.ts'
import type { Foundation } from './compose-foundation.ts'
import type { Services } from './compose-services.ts'

/** @param ingestPort  where the ingest API has another port than this server */
type BuildServer = (offers: Offers, ingestPort?: number) => Promise<FastifyInstance>

/** @param deadReason  why the node cannot go on and should be started anew; undefined while it can
 *  @returns how to build a server that offers a part of it or everything */
export function composeServer(
  config: Config,
  foundation: Foundation,
  services: Services,
  deadReason: () => string | undefined,
): BuildServer {
  const { adminToken, encryptionKeys, database, temporal, availability, settings, logger } = foundation
  const { look } = availability
  const liveEvents = createLiveEvents()
  // The embedded database is a part of this process: it is never gone, only busy.
  const partLimits = createPartLimits(config.databaseUrl === undefined ? onlyTemporal(availability) : availability)
  const dependencies: Omit<ServerDependencies, 'readStatus'> = {
    ...foundation,
    ...services.deliveries,
    ...services.audiences,
    ...services.deletions,
    sessionKeys: sessionKeys(encryptionKeys, adminToken),
    tokens: createTokenStore(database, logger),
    limits: { requestTimeoutMs: config.requestTimeoutMs, maxConnections: config.maxConnections },
    liveEvents,
    partLimits,
    destinations: foundation.destinationsIn(database),
    ingest: ingestOf(foundation, services, liveEvents, (work) => partLimits.whilePresent(['temporal'], work)),
    ingestOptions: {
      lenientAuth: config.lenientAuth,
      maxEventsPerSource: config.maxEventsPerSource,
      maxRequestsPerAddress: config.maxRequestsPerAddress,
    },
    trustedProxies: config.trustedProxies,
    deadReason,
    readiness: () => (config.roles.api ? readiness : workerReadiness)(look, settings.isLoaded),
    requestMetrics: createRequestMetrics(foundation.registry),
  }
  return (offers, ingestPort) => {
    const readStatus = statusReader({ config, database, temporal, ingestPort: ingestPort ?? null, availability })
    return buildServer({ ...dependencies, readStatus }, offers)
  }
}

/** Syncs of audiences step back for events that come in. */
function ingestOf(
  { settings, suppression, logger }: Foundation,
  services: Services,
  liveEvents: LiveEvents,
  whilePresent: WhilePresent,
): IngestPort {
  const { intake, ledger } = services.intake
  const ingest = createIngestPort(settings, intake, ledger, liveEvents.sink, suppression)
  const { deliveryLog } = services.deliveries
  return {
    ...ingest,
    firstOutcome: createFirstOutcomes({ read: (id) => deliveryLog.read(id, whilePresent), logger }),
    accept(events) {
      services.audiences.liveTraffic.note()
      return ingest.accept(events)
    },
  }
}
