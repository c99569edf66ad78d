import { randomUUID } from 'node:crypto'
import type { SteeringTrace } from '../contracts/delivery.ts'
import type { Temporal } from './connection.ts'
import { isNotFound, isRefusedForGood } from './grpc-errors.ts'

/** How long one call may take, in milliseconds. */
const callLimitMs = 2_000

/** Asks Temporal to cancel a delivery; one that is over stays as it is.
 *  @returns false when Temporal has no such delivery
 *  @throws when Temporal does not answer in time */
export async function cancelDelivery(
  { connection, client, namespace }: Temporal,
  deliveryId: string,
  { by, why }: SteeringTrace,
): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + callLimitMs, () =>
      client.workflowService.requestCancelWorkflowExecution({
        namespace,
        workflowExecution: { workflowId: deliveryId },
        identity: by ?? 'postrider',
        requestId: randomUUID(),
        reason: why ?? '',
      }),
    )
    return true
  } catch (error) {
    // It never had one whose id it refuses.
    if (isNotFound(error) || isRefusedForGood(error)) return false
    throw error
  }
}
