import { WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy, WorkflowNotFoundError } from '@temporalio/client'
import { eventWorkflowId, hashedName, taskQueue } from '../contracts/names.ts'
import type { DeliverParcelInput, HeldParcelEvent, ParcelEvent } from '../contracts/parcels.ts'
import type { deliverParcel } from '../../workflows/deliver-parcel.ts'
import type { Temporal } from './connection.ts'
import { heldMessage, ownersOf, type SealableEvent } from './sealed-messages.ts'

/** How long one call may take, in milliseconds. */
const startLimitMs = 5_000
const lookLimitMs = 2_000

/** A parcel, and the id of its workflow. */
export interface ParcelOrder {
  id: string
  input: Pick<DeliverParcelInput, 'retry'> & { events: ParcelEvent[] }
}

/** Starts the workflow of a parcel; the same parcel is never started twice.
 *  @returns whether it was started, or Temporal had it already
 *  @throws when Temporal does not answer in time; it may then have started all the same */
export async function startParcel(temporal: Temporal, { id, input }: ParcelOrder): Promise<'started' | 'duplicate'> {
  const { client, connection } = temporal
  const events = await sealedEvents(temporal, input.events)
  try {
    await connection.withDeadline(Date.now() + startLimitMs, () =>
      client.workflow.start<typeof deliverParcel>('deliverParcel', {
        workflowId: id,
        taskQueue,
        args: [{ ...input, events }],
        workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
        workflowIdConflictPolicy: 'FAIL',
        requestEagerStart: true,
        staticSummary: summaryOf(input),
        priority: { fairnessKey: fairnessKeyOf(input) },
      }),
    )
    return 'started'
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'duplicate'
    throw error
  }
}

type GivenEvent = Pick<ParcelEvent, 'sourceId' | 'messageId' | 'message'>

/** The users with whose keys events are sealed. */
export const usersOf = (events: readonly GivenEvent[]): { sourceId: string; userId: string }[] =>
  events.map(sealable).flatMap(ownersOf)

const sealable = ({ sourceId, messageId, message }: GivenEvent): SealableEvent => ({
  sourceId,
  message,
  deliveryId: eventWorkflowId(sourceId, messageId),
})

/** The events, each sealed with the keys of its users, a hash in the place of its message id. */
async function sealedEvents({ messages, names }: Temporal, events: readonly ParcelEvent[]): Promise<HeldParcelEvent[]> {
  const seals = await messages.sealsFor(events.map(sealable))
  return events.map((event, index) => {
    const seal = seals[index]
    if (seal === undefined) return event
    return { ...event, messageId: nameInParcel(names, event), message: heldMessage(event, seal) }
  })
}

/** The hash in the id of the event's delivery, by which the parcel is asked for it. Where a message id ends as a redelivery does, that is
 *  another hash than the one of the message id itself. */
function nameInParcel(names: Temporal['names'], { sourceId, messageId }: GivenEvent): string {
  const name = names.workflowId(eventWorkflowId(sourceId, messageId)).replace(`event/${sourceId}/`, '')
  return hashedName.test(name) ? name : messageId
}

/** The source of all events; those that share a parcel with others have a share of their own together. */
function fairnessKeyOf({ events }: ParcelOrder['input']): string {
  const [sourceId = '', ...others] = new Set(events.map((event) => event.sourceId))
  return others.length === 0 ? sourceId : 'several sources'
}

const summaryOf = ({ events }: ParcelOrder['input']): string =>
  events.length === 1 ? '1 event' : `${events.length} events`

/** Which of these deliveries Temporal lists. */
export async function knownWorkflows(
  { client, connection, namespace, names }: Temporal,
  ids: readonly string[],
): Promise<Set<string>> {
  const deliveries = new Map(ids.flatMap((id) => names.workflowIds(id).map((workflowId) => [workflowId, id] as const)))
  // A quote cannot be written in a query: an id of an earlier version that has one is looked for one by one, if ever.
  const asked = [...deliveries.keys()].filter((id) => !/['"\\]/.test(id))
  if (asked.length === 0) return new Set()
  const query = `WorkflowId IN (${asked.map((id) => `'${id}'`).join(', ')})`
  const { executions } = await connection.withDeadline(Date.now() + lookLimitMs, () =>
    client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: asked.length }),
  )
  return new Set(executions.flatMap(({ execution }) => deliveries.get(execution?.workflowId ?? '') ?? []))
}

/** Whether a workflow is there and has not ended. */
export async function isRunning({ client, connection }: Temporal, id: string): Promise<boolean> {
  try {
    const { status } = await connection.withDeadline(Date.now() + lookLimitMs, () =>
      client.workflow.getHandle(id).describe(),
    )
    return status.name === 'RUNNING'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}
