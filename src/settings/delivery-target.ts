import type { DeliveryTarget } from '../contracts/delivery.ts'
import { ownRetry } from '../contracts/retry-window.ts'
import type { StoredDestination } from '../db/stored-destination.ts'

/** A destination as a delivery addresses it: its endpoints and its mapping as they are now; undefined when it is switched off or has none. */
export function deliveryTarget(destination: StoredDestination): DeliveryTarget | undefined {
  const endpointIds = destination.settings.webhooks.map(({ id }) => id)
  if (!destination.enabled || endpointIds.length === 0) return undefined
  const { id: destinationId, successPolicy, mappingId, orderPerUser } = destination
  return {
    destinationId,
    endpointIds,
    successPolicy,
    ...(mappingId !== null && { mappingId }),
    ...ownRetry(destination),
    ...(orderPerUser !== null && { orderWaitMs: orderPerUser.maxWaitSeconds * 1_000 }),
  }
}
