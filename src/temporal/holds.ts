/** Starts the workflow that holds a destination which fails. */

import type { holdDestination } from '../../workflows/hold-destination.ts'
import { holdWorkflowId } from '../contracts/holds.ts'
import { taskQueue } from '../contracts/names.ts'
import type { Temporal } from './connection.ts'

/** How long Temporal may take to start it, in milliseconds. */
const startLimitMs = 5_000

/** Sees to it that it runs, once however many nodes ask; one that was ended from outside is started anew. */
export async function keepHoldRunning({ client, connection }: Temporal, destinationId: string): Promise<void> {
  await connection.withDeadline(Date.now() + startLimitMs, () =>
    client.workflow.start<typeof holdDestination>('holdDestination', {
      workflowId: holdWorkflowId(destinationId),
      taskQueue,
      args: [{ destinationId }],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  )
}
