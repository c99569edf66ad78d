/** Starts the workflow that tells waiting deliveries of a change of their destination. */

import { taskQueue } from '../contracts/names.ts'
import { recheckWorkflowId } from '../contracts/steering.ts'
import type { recheckDestination } from '../../workflows/recheck-destination.ts'
import type { Temporal } from './connection.ts'

/** How long Temporal may take to start it, in milliseconds. */
const startLimitMs = 5_000

/** Sees to it that it runs; one that was ended from outside is started anew. */
export async function keepRecheckRunning({ client, connection }: Temporal, recheckId: string): Promise<void> {
  await connection.withDeadline(Date.now() + startLimitMs, () =>
    client.workflow.start<typeof recheckDestination>('recheckDestination', {
      workflowId: recheckWorkflowId(recheckId),
      taskQueue,
      args: [{ recheckId }],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  )
}
