/** The management API under `/api/v1`: who may call it, what they get to see, and the trace that changes leave. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { maskForViewer } from '../../access/mask.ts'
import { getSource } from '../../db/sources.ts'
import type { TokenStore } from '../../db/tokens.ts'
import type { Logger } from '../../logger.ts'
import { getAlertChannel } from '../../db/alert-channels.ts'
import { getAlert } from '../../db/alerts.ts'
import { applyRoutes } from './apply.ts'
import { alertRoutes, type AlertRouteDependencies } from './alerts.ts'
import type { AudienceRouteDependencies } from './audience-dependencies.ts'
import { audienceMemberRoutes } from './audience-members.ts'
import { audienceSyncRoutes } from './audience-syncs.ts'
import { audienceRoutes } from './audiences.ts'
import { auditLogRoutes } from './audit-log.ts'
import { auditChanges } from './audit-log-hooks.ts'
import type { Gate } from './authenticate.ts'
import { catalogRoutes } from './catalog.ts'
import { deletedNameRoutes } from './deleted-names.ts'
import { deletionRequestRoutes, type DeletionRouteDependencies } from './deletion-requests.ts'
import { deliveryRoutes, type DeliveryRouteDependencies } from './deliveries.ts'
import { destinationRoutes, type DestinationDependencies } from './destinations.ts'
import { fetchRoutes, type FetchDependencies } from './fetch-requests.ts'
import { liveRoutes, type LiveDependencies } from './live.ts'
import { onboardingRoutes } from './onboarding.ts'
import { overviewRoutes } from './overview.ts'
import type { PartLimits } from './part-limits.ts'
import { rehearsalRoutes } from './rehearse-destination.ts'
import { sessionRoutes } from './session.ts'
import { sourceRoutes, type SourceDependencies } from './sources.ts'
import { statusRoutes, type StatusRouteDependencies } from './status.ts'
import { tokenRoutes } from './tokens.ts'
import { turnedAwayRoutes, type TurnedAwayDependencies } from './turned-away.ts'

export interface ManagementDependencies
  extends
    SourceDependencies,
    DestinationDependencies,
    FetchDependencies,
    DeliveryRouteDependencies,
    AudienceRouteDependencies,
    DeletionRouteDependencies,
    LiveDependencies,
    TurnedAwayDependencies,
    StatusRouteDependencies,
    AlertRouteDependencies {
  gate: Gate
  /** Lets a request through as the gate does, and waits no longer than the database is there. */
  admit: (request: FastifyRequest) => Promise<void>
  tokens: TokenStore
  partLimits: PartLimits
  logger: Logger
}

export async function managementRoutes(app: FastifyInstance, dependencies: ManagementDependencies): Promise<void> {
  const { gate, admit, tokens, database, destinations, partLimits, logger } = dependencies
  const withDatabase = <Result>(work: () => Promise<Result>) => partLimits.whilePresent(['database'], work)
  app.addHook('onRequest', admit)
  app.addHook('preSerialization', async ({ actor }, _reply, payload) =>
    actor?.role === 'viewer' ? maskForViewer(payload) : payload,
  )
  const readers = {
    sources: (id: string) => getSource(database, id),
    destinations: (id: string) => destinations.get(id),
    tokens: (id: string) => tokens.get(id),
    audiences: (id: string) => dependencies.audiences.get(id),
    alerts: (id: string) => getAlert(database, id),
    'alert-channels': (id: string) => getAlertChannel(database, dependencies.secrets, id),
  }
  auditChanges(app, { database, readers, withDatabase, logger })
  partLimits.guardRoutes(app)

  await app.register(sessionRoutes, { gate })
  await app.register(tokenRoutes, { tokens })
  await app.register(auditLogRoutes, { database })
  await app.register(overviewRoutes, dependencies)
  await app.register(onboardingRoutes, dependencies)
  await app.register(statusRoutes, dependencies)
  await app.register(catalogRoutes)
  await app.register(deletedNameRoutes, { database })
  await app.register(sourceRoutes, dependencies)
  await app.register(liveRoutes, dependencies)
  await app.register(turnedAwayRoutes, dependencies)
  await app.register(destinationRoutes, dependencies)
  await app.register(fetchRoutes, dependencies)
  await app.register(rehearsalRoutes, dependencies)
  await app.register(deliveryRoutes, dependencies)
  // Memberships have millions of rows.
  const audienceDependencies = { ...dependencies, database: database.patient }
  await app.register(audienceRoutes, audienceDependencies)
  await app.register(audienceMemberRoutes, audienceDependencies)
  await app.register(audienceSyncRoutes, audienceDependencies)
  await app.register(deletionRequestRoutes, dependencies)
  await app.register(alertRoutes, dependencies)
  await app.register(applyRoutes, dependencies)
}
