/** Carries out a deletion request: one activity walks its users, and Temporal repeats it until it is through. */

import { proxyActivities } from '@temporalio/workflow'
import type { DeletionActivities, DeletionRequestInput } from '../src/contracts/deletions.ts'

const { carryOutDeletion } = proxyActivities<DeletionActivities>({
  startToCloseTimeout: '1 day',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
  // Live deliveries go first.
  priority: { priorityKey: 5 },
})

export async function deletionRequest(input: DeletionRequestInput): Promise<void> {
  await carryOutDeletion(input)
}
