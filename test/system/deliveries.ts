/** Looks at deliveries as Temporal has them, and starts some with a schedule of their own. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApplicationFailure, WorkflowFailedError, type Client, type WorkflowHandle } from '@temporalio/client'
import type {
  DeliverEventInput,
  DeliverEventResult,
  DestinationStanding,
  RetrySchedule,
} from '../../src/contracts/delivery.ts'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import { ownRetry } from '../../src/contracts/retry-window.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { MessageBody } from '../../src/schemas/message.ts'
import type { Source } from '../../src/schemas/source.ts'
import type { Temporal } from '../../src/temporal/connection.ts'
import { isRefusedForGood } from '../../src/temporal/grpc-errors.ts'
import { startDelivery } from '../../src/temporal/start-delivery.ts'
import type { deliverEvent } from '../../workflows/deliver-event.ts'
import type { TestApp } from '../support/app.ts'

export type DeliveryHandle = WorkflowHandle<typeof deliverEvent>

const pollMs = 25

export const deliveryOf = ({ client, names }: Temporal, { id }: Source, messageId: string): DeliveryHandle =>
  client.workflow.getHandle<typeof deliverEvent>(names.workflowId(eventWorkflowId(id, messageId)))

/** The only delivery of a source, for who knows nothing of the node that started it: Temporal lists it a moment later. */
export async function onlyDeliveryOf(client: Client, { id }: Pick<Source, 'id'>): Promise<DeliveryHandle> {
  let found: string | undefined
  await until(`Temporal lists a delivery of ${id}`, async () => {
    for await (const { workflowId } of client.workflow.list({ query: `PostriderSource = '${id}'` })) found = workflowId
    return found !== undefined
  })
  return client.workflow.getHandle<typeof deliverEvent>(found ?? '')
}

/** Gives the last endpoint of a destination a window of an hour, with short pauses. @returns the destination as it is then */
export async function withPatientLast(
  { api }: Pick<TestApp, 'api'>,
  { id, settings }: Destination,
): Promise<Destination> {
  const webhooks = settings.webhooks.map(({ id: endpointId, url }) => ({ id: endpointId, url }))
  const own = { retryWindowHours: 1, retryPauses: { firstSeconds: 1, maxSeconds: 10 } }
  const change = { settings: { webhooks: [...webhooks.slice(0, -1), { ...webhooks.at(-1), ...own }] } }
  const { status, body } = await api<Destination>('PATCH', `/destinations/${id}`, change)
  if (status !== 200) throw new Error(`not changed: ${status} ${JSON.stringify(body)}`)
  return body
}

/** Starts the delivery of a track event; for what ingest does not let a caller choose. */
export async function deliver(
  temporal: Temporal,
  source: Source,
  destinations: Destination[],
  options: {
    messageId?: string
    message?: MessageBody
    retry?: Partial<RetrySchedule>
    resumed?: DestinationStanding[]
  } = {},
): Promise<DeliveryHandle> {
  const { messageId = randomUUID(), message = trackMessage(messageId), retry, resumed } = options
  const input: DeliverEventInput = {
    sourceId: source.id,
    messageId,
    message,
    targets: destinations.map(({ id, successPolicy, settings, ...its }) => ({
      destinationId: id,
      endpointIds: settings.webhooks.map((webhook) => webhook.id),
      successPolicy,
      ...ownRetry({ settings, ...its }),
    })),
    retry: { windowMs: 60_000, initialMs: 200, maxMs: 1_000, ...retry },
    ...(resumed && { resumed }),
  }
  // A start may take longer than a caller would wait for it; one that was made all the same is a duplicate then.
  await until('Temporal takes the delivery', async () => {
    try {
      await startDelivery(temporal, input)
      return true
    } catch (error) {
      if (isRefusedForGood(error)) throw error
      return false
    }
  })
  return deliveryOf(temporal, source, messageId)
}

const trackMessage = (messageId: string): MessageBody => ({
  version: 1,
  type: 'track',
  messageId,
  timestamp: '2026-03-01T00:00:00.000Z',
  userId: 'u1',
  event: 'Hello',
  properties: {},
  context: {},
})

/** How a failed delivery stands in Temporal: its message, and the result in its details.
 *  @throws Error when it succeeded */
export async function failureOf(handle: DeliveryHandle): Promise<{ message: string; result: DeliverEventResult }> {
  const error: unknown = await handle.result().then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure))
    throw new Error(`${handle.workflowId} did not fail as a delivery does`, { cause: error })
  const [result] = error.cause.details as [DeliverEventResult]
  return { message: error.cause.message, result }
}

/** Value of `PostriderOutcome`, as Temporal has it at this moment. */
export async function outcomeAttribute(handle: DeliveryHandle): Promise<string | undefined> {
  const { typedSearchAttributes } = await handle.describe()
  const pair = typedSearchAttributes.getAll().find(({ key }) => key.name === 'PostriderOutcome')
  return pair?.value as string | undefined
}

export const untilOutcome = (handle: DeliveryHandle, outcome: string): Promise<void> =>
  until(`${handle.workflowId} is ${outcome}`, async () => (await outcomeAttribute(handle)) === outcome)

/** Waits for a condition. @throws Error naming `what` when it is not met within the limit */
export async function until(what: string, isMet: () => Promise<boolean> | boolean, withinMs = 90_000): Promise<void> {
  const deadline = Date.now() + withinMs
  while (!(await isMet())) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`)
    await sleep(pollMs)
  }
}
