import { randomUUID } from 'node:crypto'
import type { SteeringTrace } from '../contracts/delivery.ts'
import type { Temporal } from './connection.ts'
import { isNotFound, isRefusedForGood } from './grpc-errors.ts'
import { sealText } from './sealed-text.ts'
import { underEachId } from './under-each-id.ts'

/** How long one call may take, in milliseconds. */
const callLimitMs = 2_000

/** Asks Temporal to cancel a delivery; one that is over stays as it is.
 *  @returns false when Temporal has no such delivery
 *  @throws when Temporal does not answer in time */
export async function cancelDelivery(
  temporal: Temporal,
  deliveryId: string,
  { by, why }: SteeringTrace,
): Promise<boolean> {
  const { connection, client, namespace, payloads } = temporal
  try {
    await underEachId(temporal, deliveryId, (workflowId) =>
      connection.withDeadline(Date.now() + callLimitMs, () =>
        client.workflowService.requestCancelWorkflowExecution({
          namespace,
          workflowExecution: { workflowId },
          identity: by ?? 'postrider',
          requestId: randomUUID(),
          reason: sealText(payloads, why ?? ''),
        }),
      ),
    )
    return true
  } catch (error) {
    // It never had one whose id it refuses.
    if (isNotFound(error) || isRefusedForGood(error)) return false
    throw error
  }
}
