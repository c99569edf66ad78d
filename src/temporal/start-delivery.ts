import { WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy, WorkflowNotFoundError } from '@temporalio/client'
import type { DeliverEventInput, SteeringTrace } from '../contracts/delivery.ts'
import { eventName } from '../contracts/event-name.ts'
import { eventWorkflowId, taskQueue } from '../contracts/names.ts'
import type { deliverEvent } from '../../workflows/deliver-event.ts'
import type { Temporal } from './connection.ts'
import { deliveryAttributes, shownNames } from './search-attributes.ts'

/** How long one start may take before the event goes elsewhere, in milliseconds. */
const startLimitMs = 2_000

/** Longest summary line, in characters; Temporal takes 400 bytes. */
const maxSummaryLength = 100

export interface StartOptions {
  /** That of the event unless given. */
  deliveryId?: string
  /** Of a repeated delivery: who ordered it, and why. */
  redelivery?: SteeringTrace
  /** The parcel that it leaves: its workflow has the attempts that were made there. */
  parcel?: string
}

/** Starts the delivery of an event; the same event is never started twice.
 *  @returns whether it was started, or is a duplicate of one that Temporal knows
 *  @throws when Temporal does not answer in time; the delivery may then have started all the same */
export async function startDelivery(
  temporal: Temporal,
  input: DeliverEventInput,
  { deliveryId = eventWorkflowId(input.sourceId, input.messageId), redelivery, parcel }: StartOptions = {},
): Promise<'started' | 'duplicate'> {
  const { client, connection, names } = temporal
  const [workflowId = deliveryId, ...others] = names.workflowIds(deliveryId)
  for (const id of others) if (await isThere(temporal, id)) return 'duplicate'
  try {
    await connection.withDeadline(Date.now() + startLimitMs, () =>
      client.workflow.start<typeof deliverEvent>('deliverEvent', {
        workflowId,
        taskQueue,
        args: [input],
        workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
        workflowIdConflictPolicy: 'FAIL',
        requestEagerStart: true,
        typedSearchAttributes: deliveryAttributes(input, names),
        memo: {
          shown: { ...shownNames(deliveryId, input) },
          endpoints: input.targets.reduce((sum, { endpointIds }) => sum + endpointIds.length, 0),
          ...(redelivery !== undefined && { redelivery: { ...redelivery } }),
          ...(parcel !== undefined && { parcel }),
        },
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

/** Asked of a workflow that has the id of another time: its start would not be refused. */
async function isThere({ client, connection }: Temporal, workflowId: string): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + startLimitMs, () => client.workflow.getHandle(workflowId).describe())
    return true
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}

function summaryOf({ message }: DeliverEventInput): string {
  const { type, userId } = message
  const what = eventName(message)
  const text = [type, what && `"${what}"`, userId && `by ${userId}`].filter(Boolean).join(' ')
  return text.slice(0, maxSummaryLength)
}
