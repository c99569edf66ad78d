/** What deletion requests ask of Temporal. */

import { setTimeout as sleep } from 'node:timers/promises'
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { deletionRequestWorkflowId, notificationPrefix } from '../contracts/deletions.ts'
import { audienceIdPrefix, taskQueue } from '../contracts/names.ts'
import { AppError } from '../errors.ts'
import type { deletionRequest } from '../../workflows/deletion-request.ts'
import { answerWithin } from './answer-within.ts'
import type { Temporal } from './connection.ts'
import { keyword } from './keyword.ts'
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
  temporal: Temporal,
  requestId: string,
): Promise<{ delivered: number; failed: number }> {
  const countOf = (...statuses: string[]): Promise<number> => countOfRequest(temporal, requestId, statuses)
  return answerWithin(temporal, callLimitMs, async () => {
    const [delivered, failed] = await Promise.all([
      countOf('Completed'),
      countOf('Failed', 'TimedOut', 'Canceled', 'Terminated'),
    ])
    return { delivered, failed }
  })
}

/** Whether notifications of a request, or their redeliveries, are under way. */
export const hasNotifications = async (temporal: Temporal, requestId: string): Promise<boolean> =>
  (await countOfRequest(temporal, requestId, ['Running'])) > 0

async function countOfRequest({ client }: Temporal, requestId: string, statuses: readonly string[]): Promise<number> {
  const ofRequest = `WorkflowType = 'deliverEvent' AND WorkflowId STARTS_WITH '${notificationPrefix(requestId)}'`
  const { count } = await client.workflow.count(`${ofRequest} AND ExecutionStatus ${oneOf(statuses)}`)
  return count
}

const oneOf = (values: readonly string[]): string => `IN (${values.map((value) => `'${value}'`).join(', ')})`

/** Whose deliveries are called off. */
export interface CancelOrder {
  userIds: string[]
  /** Only deliveries of these sources, and of audiences; null: of all sources. */
  scope: string[] | null
  /** Only deliveries that began by then. */
  before: Date
  /** Of the deliveries that syncs of audiences started only those that began by then: users of named sources leave the
   *  audiences too. */
  forgottenAt: Date
  why: string
}

/** Calls off the deliveries of users that are not over; notifications of deletions stay.
 *  @returns how many were called off */
export async function cancelDeliveriesOf(
  { client, names }: Temporal,
  steering: Pick<Steering, 'carryOut'>,
  order: CancelOrder,
): Promise<number> {
  const { forgottenAt, why } = order
  const query = `${deliveriesOf(names, order)} AND ExecutionStatus = 'Running'`
  await sleep(Math.max(0, forgottenAt.getTime() + visibilityLagMs - Date.now()))
  let cancelled = 0
  for await (const { workflowId } of client.workflow.list({ query })) {
    try {
      await steering.carryOut({ action: 'cancel' }, workflowId, { by: 'deletion request', why })
      cancelled++
    } catch (error) {
      // It ended meanwhile.
      if (!(error instanceof AppError)) throw error
    }
  }
  return cancelled
}

/** How many deliveries of the users there are, notifications aside. */
export async function countDeliveriesOf({ client, names }: Temporal, order: CancelOrder): Promise<number> {
  const { count } = await client.workflow.count(deliveriesOf(names, order))
  return count
}

/** The query of the deliveries that an order is about. */
function deliveriesOf(
  names: Temporal['names'],
  { userIds, scope, before, forgottenAt }: Omit<CancelOrder, 'why'>,
): string {
  const ofAudiences = `PostriderSource STARTS_WITH '${audienceIdPrefix}'`
  const by = before.toISOString()
  const ofSources = [
    // One that left its parcel since then began in it.
    `(StartTime <= '${by}' OR PostriderAcceptedAt <= '${by}')`,
    ...(scope === null ? [] : [`PostriderSource ${oneOf(scope.map(keyword))}`]),
  ].join(' AND ')
  return [
    `WorkflowType = 'deliverEvent' AND PostriderType != 'delete'`,
    `PostriderUserId ${oneOf(userIds.flatMap((id) => names.values('user', id)))}`,
    `(${ofAudiences} AND StartTime <= '${forgottenAt.toISOString()}' OR ${ofSources})`,
  ].join(' AND ')
}

/** Events of parcels that are called off side by side. */
const concurrency = 8

/** Cancels the deliveries of users that travel in parcels.
 *  @param listOpen  ids of some of these deliveries that are not over
 *  @throws AppError unavailable when a parcel does not come to it */
export async function cancelCarriedOf(
  listOpen: (limit: number) => Promise<string[]>,
  steering: Pick<Steering, 'cancel'>,
  { why }: Pick<CancelOrder, 'why'>,
): Promise<number> {
  const asked = new Set<string>()
  let cancelled = 0
  const cancel = async (id: string): Promise<void> => {
    asked.add(id)
    try {
      await steering.cancel(id, { by: 'deletion request', why })
      cancelled++
    } catch (error) {
      // It ended meanwhile.
      if (!(error instanceof AppError) || error.code === 'unavailable') throw error
    }
  }
  for (;;) {
    const open = (await listOpen(asked.size + concurrency)).filter((id) => !asked.has(id))
    if (open.length === 0) return cancelled
    await Promise.all(open.slice(0, concurrency).map(cancel))
  }
}
