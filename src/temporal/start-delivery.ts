import { WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy, WorkflowNotFoundError } from '@temporalio/client'
import type { DeliverEventInput, HeldEventInput, SteeringTrace } from '../contracts/delivery.ts'
import { eventName } from '../contracts/event-name.ts'
import { eventWorkflowId, taskQueue } from '../contracts/names.ts'
import { heldDeliveryId } from '../contracts/parcels.ts'
import type { deliverEvent } from '../../workflows/deliver-event.ts'
import type { Temporal } from './connection.ts'
import { heldInput, openInput } from './sealed-messages.ts'
import { deliveryAttributes, shownNames } from './search-attributes.ts'

/** How long one start may take before the event goes elsewhere, in milliseconds, unless told otherwise. */
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
  /** How long the start may take, in milliseconds; 2 s unless given. */
  limitMs?: number | undefined
}

/** Starts the delivery of an event; the same event is never started twice.
 *  @param given  may be as an earlier workflow had it
 *  @returns whether it was started, or is a duplicate of one that Temporal knows
 *  @throws when Temporal does not answer in time; the delivery may then have started all the same */
export async function startDelivery(
  temporal: Temporal,
  given: HeldEventInput,
  { redelivery, parcel, limitMs = startLimitMs, ...options }: StartOptions = {},
): Promise<'started' | 'duplicate'> {
  const { client, connection, names } = temporal
  const acceptedAt = parcel === undefined ? undefined : given.acceptedAt
  const { deliveryId, input, ...told } = await whatTemporalGets(temporal, given, options)
  const [workflowId = deliveryId, ...others] = names.workflowIds(deliveryId)
  for (const id of others) if (await isThere(temporal, id, limitMs)) return 'duplicate'
  try {
    await connection.withDeadline(Date.now() + limitMs, () =>
      client.workflow.start<typeof deliverEvent>('deliverEvent', {
        workflowId,
        taskQueue,
        args: [input],
        workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
        workflowIdConflictPolicy: 'FAIL',
        requestEagerStart: true,
        typedSearchAttributes: deliveryAttributes(told.event, names, acceptedAt),
        memo: {
          shown: told.shown,
          endpoints: input.targets.reduce((sum, { endpointIds }) => sum + endpointIds.length, 0),
          ...(redelivery !== undefined && { redelivery: { ...redelivery } }),
          ...(parcel !== undefined && { parcel, acceptedAt }),
        },
        staticSummary: told.summary,
        priority: { fairnessKey: input.sourceId },
      }),
    )
    return 'started'
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'duplicate'
    throw error
  }
}

/** An event, and what is told of it, sealed with the keys of its users. */
async function whatTemporalGets(
  { messages, names }: Temporal,
  given: HeldEventInput,
  { deliveryId }: Pick<StartOptions, 'deliveryId'>,
) {
  const opened = await openInput(messages, given)
  // Of one whose user was erased nothing can be told any more: its attempts find that out.
  const event = opened ?? { ...given, message: { type: given.message.type, timestamp: '' } }
  const id = deliveryId ?? (opened ? eventWorkflowId(opened.sourceId, opened.messageId) : heldDeliveryId(given))
  const [seal] = opened === undefined ? [] : await messages.sealsFor([{ ...opened, deliveryId: id }])
  const shown = { ...shownNames(id, event) }
  return {
    deliveryId: id,
    input: opened === undefined ? given : heldInput(opened, seal, names.value('message', event.messageId)),
    event,
    shown: seal === undefined ? shown : { sealed: seal(shown) },
    summary: seal === undefined ? summaryOf(event) : event.message.type,
  }
}

/** Asked of a workflow that has the id of another time: its start would not be refused.
 *  @param limitMs  how long the answer may take, in milliseconds */
async function isThere({ client, connection }: Temporal, workflowId: string, limitMs: number): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + limitMs, () => client.workflow.getHandle(workflowId).describe())
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
