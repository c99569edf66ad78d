import { WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy } from '@temporalio/client'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import { eventWorkflowId, taskQueue } from '../contracts/names.ts'
import type { deliverEvent } from '../../workflows/deliver-event.ts'
import type { Temporal } from './connection.ts'
import { deliveryAttributes } from './search-attributes.ts'

/** How long one start may take before the event goes elsewhere, in milliseconds. */
const startLimitMs = 2_000

/** Longest summary line, in characters; Temporal takes 400 bytes. */
const maxSummaryLength = 100

/** Starts the delivery of an event; the same event is never started twice.
 *  @param workflowId  that of the event, or of a redelivery
 *  @returns whether it was started, or is a duplicate of one that Temporal knows
 *  @throws when Temporal does not answer in time; the delivery may then have started all the same */
export async function startDelivery(
  { client, connection }: Temporal,
  input: DeliverEventInput,
  workflowId = eventWorkflowId(input.sourceId, input.messageId),
): Promise<'started' | 'duplicate'> {
  try {
    await connection.withDeadline(Date.now() + startLimitMs, () =>
      client.workflow.start<typeof deliverEvent>('deliverEvent', {
        workflowId,
        taskQueue,
        args: [input],
        workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
        workflowIdConflictPolicy: 'FAIL',
        requestEagerStart: true,
        typedSearchAttributes: deliveryAttributes(input),
        staticSummary: summaryOf(input),
        priority: { fairnessKey: input.sourceId },
      }),
    )
    return 'started'
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'duplicate'
    throw error
  }
}

function summaryOf({ message }: DeliverEventInput): string {
  const { type, event, name, userId } = message
  const what = [event, name].find((value) => typeof value === 'string')
  const text = [type, what && `"${what}"`, userId && `by ${userId}`].filter(Boolean).join(' ')
  return text.slice(0, maxSummaryLength)
}
