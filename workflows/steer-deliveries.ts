/** Steers all deliveries that match a filter: one activity walks them, oldest first, and can be stopped by cancellation. */

import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow'
import type { SteerDeliveriesInput, SteeringActivities, SteeringProgress } from '../src/contracts/steering.ts'

const { steerMatching } = proxyActivities<SteeringActivities>({
  startToCloseTimeout: '1 day',
  heartbeatTimeout: '30 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
  // Live deliveries go first.
  priority: { priorityKey: 5 },
})

export async function steerDeliveries(input: SteerDeliveriesInput): Promise<SteeringProgress> {
  return steerMatching(input)
}
