/** What the workflow of a parcel tells. */

import { defaultPayloadConverter } from '@temporalio/common'
import type { temporal } from '@temporalio/proto'
import type { ParcelRetryRecord } from '../contracts/parcels.ts'
import type { Temporal } from './connection.ts'

type Payloads = temporal.api.common.v1.IPayloads

const first = <Value>(payloads: Payloads | null | undefined): Value | undefined => {
  const payload = payloads?.payloads?.[0]
  return payload ? defaultPayloadConverter.fromPayload<Value>(payload as never) : undefined
}

/** How far the activity of a destination is that waits or runs: in its heartbeat, which each failure leaves behind.
 *  @throws when Temporal does not answer */
export async function readPendingRecord(
  { client, namespace }: Temporal,
  workflowId: string,
  destinationId: string,
): Promise<ParcelRetryRecord | undefined> {
  const { pendingActivities } = await client.workflowService.describeWorkflowExecution({
    namespace,
    execution: { workflowId },
  })
  const activity = pendingActivities.find(({ priority }) => priority?.fairnessKey === destinationId)
  return first<ParcelRetryRecord>(activity?.heartbeatDetails)
}
