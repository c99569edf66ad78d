/** What an operator does to one delivery; each leaves who and why in the workflow's history. */

import type { WorkflowExecutionDescription } from '@temporalio/client'
import type { DeliverEventInput, DeliveryTarget, RetrySchedule, SteeringTrace } from '../contracts/delivery.ts'
import { signals } from '../contracts/delivery.ts'
import { namedUsers } from '../contracts/named-users.ts'
import { eventIdOf, redeliveryNumberOf, redeliveryWorkflowId } from '../contracts/names.ts'
import type { RedeliveryChoice, SteeringOrder } from '../contracts/steering.ts'
import { AppError } from '../errors.ts'
import type { DeliverySteered, RedeliveryPart } from '../schemas/delivery.ts'
import { cancelDelivery } from './cancel-delivery.ts'
import type { Temporal } from './connection.ts'
import { readDelivery } from './delivery-detail.ts'
import { readShown, toDelivery } from './delivery-row.ts'
import { isNotFound } from './grpc-errors.ts'
import { refuseHeld, type NameOfPaused } from './held.ts'
import { opened } from './opened.ts'
import type { CarriedSteering } from './parcel-steering.ts'
import { erased, refuseErased } from './sealed-messages.ts'
import { startDelivery } from './start-delivery.ts'
import { underEachId } from './under-each-id.ts'
import { withoutLimit, type WhilePresent } from '../within.ts'

/** Most redeliveries of one event. */
const maxRedeliveries = 1_000

export interface SteeringDependencies {
  temporal: Temporal
  /** The endpoints of a destination as they are now; undefined when it is gone or switched off. */
  findTarget: (destinationId: string) => DeliveryTarget | undefined
  nameOfPaused: NameOfPaused
  /** The destinations of a delivery where it is not settled. */
  openDestinations: (deliveryId: string) => Promise<string[]>
  /** Whether a user was deleted at a moment or later. */
  isDeletedSince: (sourceId: string, userIds: readonly string[], since: Date) => Promise<boolean>
  retry: RetrySchedule
  queued: QueuedSteering
  carried: CarriedSteering
}

/** Steers events that wait in the inbox. Each call answers undefined when no such event is there: its delivery has started,
 *  if there is one. */
export interface QueuedSteering {
  /** Starts it ahead of its turn, also after Temporal had refused it.
   *  @returns `queued` when Temporal does not take it now: it waits on
   *  @throws AppError conflict when it was cancelled, or Temporal refuses it; unavailable when a node that does not answer has it */
  retry(deliveryId: string): Promise<'started' | 'queued' | undefined>
  /** Sees to it that it is never started.
   *  @throws AppError conflict when it was cancelled before; unavailable when a node that does not answer has it */
  cancel(deliveryId: string, trace: SteeringTrace): Promise<'cancelled' | undefined>
  /** The event, when it came, and whether it is over: refused or cancelled. */
  find(deliveryId: string): Promise<{ input: DeliverEventInput; since: Date; isOver: boolean } | undefined>
}

/** What operators order. */
type ActionOrder = Exclude<SteeringOrder, { action: 'recheck' }>

export interface Steering {
  /** Attempts every waiting endpoint now.
   *  @param whilePresent  waits for Temporal, which is not asked about what waits in the inbox; unless given, without a limit
   *  @throws AppError not_found; conflict when the delivery is over, or paused destinations are all that it waits for */
  retry(deliveryId: string, trace: SteeringTrace, whilePresent?: WhilePresent): Promise<DeliverySteered>
  /** Stops a delivery. @param whilePresent  as in `retry` @throws AppError not_found; conflict when it is over */
  cancel(deliveryId: string, trace: SteeringTrace, whilePresent?: WhilePresent): Promise<DeliverySteered>
  /** Sees to it that an event of the inbox is never started. @returns false when it is not there, or has started meanwhile
   *  @throws AppError as `QueuedSteering.cancel` */
  cancelQueued(deliveryId: string, trace: SteeringTrace): Promise<boolean>
  /** Delivers a finished one again, to the endpoints as they are now; one that still runs to those of its destinations where it has ended.
   *  @param choice  unless given, to all of its destinations, also where it was delivered again before
   *  @returns id of the new delivery
   *  @throws AppError not_found; erased; conflict when it still runs at what is chosen, has no destination left, its user was deleted since, or
   *  it was delivered again before and the choice leaves that out; bad_request when `only` names none of its destinations */
  redeliver(deliveryId: string, trace: SteeringTrace, choice?: RedeliveryChoice): Promise<string>
  /** Carries out an order of a bulk steering on one delivery that Temporal has, or redelivers one that ended in the inbox. */
  carryOut(order: SteeringOrder, deliveryId: string, trace: SteeringTrace): Promise<void>
  /** The same on one that is in a parcel; it does not wait for what comes of it. */
  carryOutInParcel(order: ActionOrder, deliveryId: string, trace: SteeringTrace): Promise<void>
}

export function createSteering(dependencies: SteeringDependencies): Steering {
  const { temporal, findTarget, nameOfPaused, openDestinations, isDeletedSince, retry, queued, carried } = dependencies

  /** Asked first: Temporal takes a cancellation of what is over without a word.
   *  @param check  asked of one that is over, too
   *  @throws AppError when it knows no such delivery, or none that runs */
  const ofRunning = async (
    deliveryId: string,
    act: (description: WorkflowExecutionDescription) => Promise<unknown>,
    check?: (description: WorkflowExecutionDescription) => Promise<void>,
  ): Promise<void> => {
    try {
      const description = await underEachId(temporal, deliveryId, (id) =>
        temporal.client.workflow.getHandle(id).describe(),
      )
      await check?.(description)
      if (description.status.name !== 'RUNNING')
        throw new AppError('conflict', 'the delivery is over: redeliver it to send it again')
      await act(description)
    } catch (error) {
      if (!isNotFound(error)) throw error
      throw new AppError('not_found', `no delivery that runs has the id ${deliveryId}`, { cause: error })
    }
  }

  const signal = (workflowId: string, name: string, argument: unknown): Promise<void> =>
    temporal.client.workflow.getHandle(workflowId).signal(name, argument)

  /** @param mayGoOn  at destinations that are not chosen; what is told before an order for many counts none that goes on */
  const redeliver = async (
    deliveryId: string,
    trace: SteeringTrace,
    { only, unlessRedelivered = false, mayGoOn = false }: RedeliveryChoice & { mayGoOn?: boolean } = {},
  ): Promise<string> => {
    const { id, input, since, isOver } = await readSent(deliveryId)
    if (!isOver && !(mayGoOn && only !== undefined))
      throw new AppError('conflict', 'the delivery is not over: retry or cancel it')
    if (input === undefined) throw erased()
    const users = namedUsers(input.message)
    if (users.length > 0 && (await isDeletedSince(input.sourceId, users, since)))
      throw new AppError(
        'conflict',
        'the user of this event was deleted since: what is about deleted users is not sent again',
      )
    const targets = input.targets.flatMap((before) => targetNow(before, findTarget(before.destinationId), only))
    if (targets.length === 0)
      throw new AppError(
        'conflict',
        'each destination of this delivery is deleted, switched off or without an endpoint: switch one on, then redeliver',
      )
    const chosen = only === undefined ? targets : partOf(targets, only)
    if (!isOver) await refuseOpen(deliveryId, chosen)
    return startRedelivery(
      { ...input, targets: chosen, retry, acceptedAt: new Date().toISOString() },
      { deliveryId: id, trace, unlessRedelivered },
    )
  }

  /** What was sent of a delivery, wherever it is; no input where its user was erased. @throws AppError not_found */
  const readSent = async (
    deliveryId: string,
  ): Promise<{ id: string; input: DeliverEventInput | undefined; since: Date; isOver: boolean }> => {
    const delivery = await readDelivery(temporal, deliveryId, () => false)
    const found = delivery
      ? { input: delivery.input, since: new Date(delivery.startedAt), isOver: delivery.endedAt !== null }
      : ((await carried.find(deliveryId)) ?? (await queued.find(deliveryId)))
    if (found === undefined) throw new AppError('not_found', `no delivery has the id ${deliveryId}`)
    const { input, since, isOver } = found
    return { id: delivery?.id ?? deliveryId, input, since, isOver }
  }

  /** @throws AppError conflict when the delivery goes on at one of these destinations */
  const refuseOpen = async (deliveryId: string, targets: readonly DeliveryTarget[]): Promise<void> => {
    const open = new Set(await openDestinations(deliveryId))
    if (targets.some(({ destinationId }) => open.has(destinationId)))
      throw new AppError('conflict', 'the delivery is not over at that destination: retry or cancel it')
  }

  const startRedelivery = async (
    { isOutOfOrder: _, ...input }: DeliverEventInput,
    { deliveryId, trace, unlessRedelivered }: { deliveryId: string; trace: SteeringTrace; unlessRedelivered: boolean },
  ): Promise<string> => {
    const eventId = eventIdOf(deliveryId)
    // Redeliveries are numbered in their order: those of lower numbers were there before.
    for (let n = redeliveryNumberOf(deliveryId) + 1; n <= maxRedeliveries; n++) {
      const id = redeliveryWorkflowId(eventId, n)
      if ((await startDelivery(temporal, input, { deliveryId: id, redelivery: trace })) === 'started') return id
      if (unlessRedelivered) throw new AppError('conflict', 'it was delivered again before')
    }
    throw new AppError(
      'conflict',
      `the event was redelivered ${maxRedeliveries} times, the most there can be: send it as a new event`,
    )
  }

  const refuseErasedOne = async ({ raw }: WorkflowExecutionDescription): Promise<void> =>
    refuseErased((await readShown(temporal, opened(temporal.payloads, { ...raw.workflowExecutionInfo }))) === 'erased')
  const tryNow = async (
    { workflowId, raw: { workflowExecutionInfo } }: WorkflowExecutionDescription,
    deliveryId: string,
    trace: SteeringTrace,
  ): Promise<void> => {
    // Its memo is as Temporal has it, and says nothing of this.
    const { destinationIds } = toDelivery({ ...workflowExecutionInfo, memo: null }, undefined, () => false)
    await refuseHeld(destinationIds, nameOfPaused, () => openDestinations(deliveryId))
    await signal(workflowId, signals.retryNow, trace)
  }
  const retryStarted = (deliveryId: string, trace: SteeringTrace): Promise<void> =>
    ofRunning(deliveryId, (description) => tryNow(description, deliveryId, trace), refuseErasedOne)
  const cancelStarted = (deliveryId: string, trace: SteeringTrace): Promise<void> =>
    ofRunning(deliveryId, ({ workflowId }) => cancelDelivery(temporal, workflowId, trace))

  return {
    async retry(deliveryId, trace, whilePresent = withoutLimit) {
      const became = await queued.retry(deliveryId)
      if (became !== undefined) return became
      return whilePresent(async () => {
        if ((await carried.retry(deliveryId, trace)) === undefined) await retryStarted(deliveryId, trace)
        return 'retrying' as const
      })
    },
    async cancel(deliveryId, trace, whilePresent = withoutLimit) {
      const became = await queued.cancel(deliveryId, trace)
      if (became !== undefined) return became
      return whilePresent(async () => {
        if ((await carried.cancel(deliveryId, trace)) === undefined) await cancelStarted(deliveryId, trace)
        return 'cancelling' as const
      })
    },
    cancelQueued: async (deliveryId, trace) => (await queued.cancel(deliveryId, trace)) !== undefined,
    redeliver: (deliveryId, trace, choice) => redeliver(deliveryId, trace, { ...choice, mayGoOn: true }),
    async carryOut(order, deliveryId, trace) {
      if (order.action === 'recheck')
        await ofRunning(deliveryId, ({ workflowId }) =>
          signal(workflowId, signals.destinationChanged, order.destinationId),
        )
      else if (order.action === 'redeliver') await redeliver(deliveryId, trace, order)
      else await { retry: retryStarted, cancel: cancelStarted }[order.action](deliveryId, trace)
    },
    async carryOutInParcel(order, deliveryId, trace) {
      if (order.action === 'redeliver') await redeliver(deliveryId, trace, order)
      else await carried.order(order.action, deliveryId, trace)
    },
  }
}

/** Where a target of an earlier delivery leads now: what was chosen then stays chosen, unless something else is. */
function targetNow(
  before: DeliveryTarget,
  now: DeliveryTarget | undefined,
  only: RedeliveryPart | undefined,
): DeliveryTarget[] {
  if (now === undefined) return []
  if (before.isChosenEndpoint !== true || only !== undefined) return [now]
  const endpointIds = now.endpointIds.filter((id) => before.endpointIds.includes(id))
  return endpointIds.length === 0 ? [] : [{ ...now, endpointIds, isChosenEndpoint: true }]
}

/** @throws AppError bad_request when nothing is left */
function partOf(targets: readonly DeliveryTarget[], { destinationId, endpointId }: RedeliveryPart): DeliveryTarget[] {
  const part = targets
    .filter((target) => destinationId === undefined || target.destinationId === destinationId)
    .map((target) => ({
      ...target,
      endpointIds: target.endpointIds.filter((id) => endpointId === undefined || id === endpointId),
      ...(endpointId !== undefined && { isChosenEndpoint: true as const }),
    }))
    .filter(({ endpointIds }) => endpointIds.length > 0)
  if (part.length > 0) return part
  const path = endpointId === undefined ? 'only.destinationId' : 'only.endpointId'
  const what = endpointId === undefined ? 'destination' : 'endpoint'
  throw new AppError(
    'bad_request',
    `this delivery has no such ${what}, or it is switched off: switch it on, then redeliver`,
    {
      path,
    },
  )
}
