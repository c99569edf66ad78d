/** The management API under `/api/v1`: every call carries the admin token. */

import type { FastifyInstance } from 'fastify'
import { requireAdminToken } from './authenticate.ts'
import { deliveryRoutes, type DeliveryRouteDependencies } from './deliveries.ts'
import { destinationRoutes, type DestinationDependencies } from './destinations.ts'
import { sourceRoutes, type SourceDependencies } from './sources.ts'

export interface ManagementDependencies extends SourceDependencies, DestinationDependencies, DeliveryRouteDependencies {
  adminToken: string
}

export async function managementRoutes(app: FastifyInstance, dependencies: ManagementDependencies): Promise<void> {
  app.addHook('onRequest', requireAdminToken(dependencies.adminToken))
  await app.register(sourceRoutes, dependencies)
  await app.register(destinationRoutes, dependencies)
  await app.register(deliveryRoutes, dependencies)
}
