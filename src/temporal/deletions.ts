/** What deletion requests ask of Temporal. */

import { setTimeout as sleep } from 'node:timers/promises'
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { deletionRequestWorkflowId, notificationPrefix } from '../contracts/deletions.ts'
import { taskQueue } from '../contracts/names.ts'
import { AppError } from '../errors.ts'
import type { deletionRequest } from '../../workflows/deletion-request.ts'
import type { Temporal } from './connection.ts'
import { keyword } from './search-attributes.ts'
import type { Steering } from './steering.ts'
import { visibilityLagMs } from './visibility-lag.ts'

/** How long one call to Temporal may take, in milliseconds. */
const callLimitMs = 5_000

/** Starts the workflow of a request, unless it was started before. */
export async function startDeletionRequest({ client, connection }: Temporal, requestId: string): Promise<void> {
  try {
    await connection.withDeadline(Date.now() + callLimitMs, () =>
      client.workflow.start<typeof deletionRequest>('deletionRequest', {
        workflowId: deletionRequestWorkflowId(requestId),
        taskQueue,
        args: [{ requestId }],
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
      }),
    )
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
  }
}

/** How many notifications of a request arrived, and how many failed. */
export async function countNotifications(
  { client, connection }: Temporal,
  requestId: string,
): Promise<{ delivered: number; failed: number }> {
  const ofRequest = `WorkflowType = 'deliverEvent' AND WorkflowId STARTS_WITH '${notificationPrefix(requestId)}'`
  const countOf = async (statuses: string): Promise<number> => {
    const { count } = await client.workflow.count(`${ofRequest} AND ExecutionStatus IN (${statuses})`)
    return count
  }
  return connection.withDeadline(Date.now() + callLimitMs, async () => {
    const [delivered, failed] = await Promise.all([
      countOf(`'Completed'`),
      countOf(`'Failed', 'TimedOut', 'Canceled', 'Terminated'`),
    ])
    return { delivered, failed }
  })
}

/** Calls off the deliveries of users that began before a moment and are not over; notifications of deletions stay.
 *  @param scope  only those of these sources
 *  @returns how many were called off */
export async function cancelDeliveriesOf(
  { client }: Temporal,
  steering: Pick<Steering, 'cancel'>,
  { userIds, scope, before, why }: { userIds: string[]; scope: string[] | null; before: Date; why: string },
): Promise<number> {
  const oneOf = (values: string[]): string => `IN (${values.map((value) => `'${keyword(value)}'`).join(', ')})`
  const query = [
    `WorkflowType = 'deliverEvent' AND ExecutionStatus = 'Running' AND PostriderType != 'delete'`,
    `StartTime <= '${before.toISOString()}'`,
    `PostriderUserId ${oneOf(userIds)}`,
    ...(scope === null ? [] : [`PostriderSource ${oneOf(scope)}`]),
  ].join(' AND ')
  await sleep(Math.max(0, before.getTime() + visibilityLagMs - Date.now()))
  let cancelled = 0
  for await (const { workflowId } of client.workflow.list({ query })) {
    try {
      await steering.cancel(workflowId, { by: 'deletion request', why })
      cancelled++
    } catch (error) {
      // It ended meanwhile.
      if (!(error instanceof AppError)) throw error
    }
  }
  return cancelled
}
