/** Carries out a deletion request: one activity walks its users, and another destroys their keys when all are told. Temporal repeats each
 *  until it is through. */

import { proxyActivities } from '@temporalio/workflow'
import type { DeletionActivities, DeletionRequestInput } from '../src/contracts/deletions.ts'

// Live deliveries go first.
const priority = { priorityKey: 5 }

const { carryOutDeletion } = proxyActivities<DeletionActivities>({
  startToCloseTimeout: '1 day',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
  priority,
})

/** Notifications may be under way for as long as the retry window is, and held for weeks. */
const { destroyKeys } = proxyActivities<DeletionActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
  priority,
})

export async function deletionRequest(input: DeletionRequestInput): Promise<void> {
  await carryOutDeletion(input)
  await destroyKeys(input)
}
