/** Starts the workflow that tells of one change of an alert. */

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import type { tellAlert } from '../../workflows/tell-alert.ts'
import { alertWorkflowId, type TellAlertInput } from '../contracts/alerts.ts'
import { taskQueue } from '../contracts/names.ts'
import type { Temporal } from './connection.ts'

/** How long Temporal may take to start it, in milliseconds. */
const startLimitMs = 5_000

/** Starts it once, however many nodes ask. */
export async function startTelling({ client, connection }: Temporal, change: TellAlertInput): Promise<void> {
  try {
    await connection.withDeadline(Date.now() + startLimitMs, () =>
      client.workflow.start<typeof tellAlert>('tellAlert', {
        workflowId: alertWorkflowId(change),
        taskQueue,
        args: [change],
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
      }),
    )
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
  }
}
