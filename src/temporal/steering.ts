/** What an operator does to one delivery; each leaves who and why in the workflow's history. */

import { randomUUID } from 'node:crypto'
import type { DeliverEventInput, DeliveryTarget, RetrySchedule, SteeringTrace } from '../contracts/delivery.ts'
import { signals } from '../contracts/delivery.ts'
import { eventIdOf, redeliveryWorkflowId } from '../contracts/names.ts'
import type { SteeringOrder } from '../contracts/steering.ts'
import { AppError } from '../errors.ts'
import type { Temporal } from './connection.ts'
import { readDelivery } from './delivery-detail.ts'
import { isNotFound } from './grpc-errors.ts'
import { startDelivery } from './start-delivery.ts'

/** Most redeliveries of one event. */
const maxRedeliveries = 1_000

export interface SteeringDependencies {
  temporal: Temporal
  /** The endpoints of a destination as they are now; undefined when it is gone or switched off. */
  findTarget: (destinationId: string) => DeliveryTarget | undefined
  /** Whether a user was deleted at a moment or later. */
  isDeletedSince: (sourceId: string, userId: string, since: Date) => Promise<boolean>
  retry: RetrySchedule
  /** Starts the delivery of an event that waits in the inbox, carries out what is asked of it, and takes it out of there.
   *  @returns false when no such event waits */
  startQueued: (deliveryId: string, act: () => Promise<unknown>) => Promise<boolean>
}

export interface Steering {
  /** Attempts every waiting endpoint now. @throws AppError not_found; conflict when the delivery is over */
  retry(deliveryId: string, trace: SteeringTrace): Promise<void>
  /** Stops a delivery. @throws AppError not_found; conflict when it is over */
  cancel(deliveryId: string, trace: SteeringTrace): Promise<void>
  /** Delivers a finished one again, to the endpoints as they are now.
   *  @returns id of the new delivery
   *  @throws AppError not_found; conflict when it still runs, has no destination left, or its user was deleted since */
  redeliver(deliveryId: string, trace: SteeringTrace): Promise<string>
  /** Carries out an order of a bulk steering on one delivery. */
  carryOut(order: SteeringOrder, deliveryId: string, trace: SteeringTrace): Promise<void>
}

export function createSteering(dependencies: SteeringDependencies): Steering {
  const { temporal, findTarget, isDeletedSince, retry, startQueued } = dependencies
  const { client, namespace } = temporal

  /** Asked first: Temporal takes a cancellation of what is over without a word.
   *  @throws AppError when it knows no such delivery, or none that runs */
  const ofRunning = async (deliveryId: string, act: () => Promise<unknown>): Promise<void> => {
    try {
      const { status } = await client.workflow.getHandle(deliveryId).describe()
      if (status.name !== 'RUNNING')
        throw new AppError('conflict', 'the delivery is over: redeliver it to send it again')
      await act()
    } catch (error) {
      if (!isNotFound(error)) throw error
      if (await startQueued(deliveryId, act)) return
      throw new AppError('not_found', `no delivery that runs has the id ${deliveryId}`, { cause: error })
    }
  }

  const signal = (deliveryId: string, name: string, argument: unknown): Promise<void> =>
    ofRunning(deliveryId, () => client.workflow.getHandle(deliveryId).signal(name, argument))

  const redeliver = async (deliveryId: string, trace: SteeringTrace): Promise<string> => {
    const delivery = await readDelivery(temporal, deliveryId, () => false)
    if (delivery === undefined) throw new AppError('not_found', `no delivery has the id ${deliveryId}`)
    if (delivery.endedAt === null) throw new AppError('conflict', 'the delivery still runs: retry or cancel it')
    const { type, userId } = delivery.input.message
    const since = new Date(delivery.startedAt)
    if (type !== 'delete' && userId !== undefined && (await isDeletedSince(delivery.sourceId, userId, since)))
      throw new AppError('conflict', 'the user of this event was deleted')
    const targets = delivery.destinationIds.flatMap((id) => findTarget(id) ?? [])
    if (targets.length === 0)
      throw new AppError('conflict', 'no destination of this delivery is left and switched on with an endpoint')
    return startRedelivery({ ...delivery.input, targets, retry }, deliveryId, trace)
  }

  const startRedelivery = async (
    input: DeliverEventInput,
    deliveryId: string,
    trace: SteeringTrace,
  ): Promise<string> => {
    const eventId = eventIdOf(deliveryId)
    for (let n = 1; n <= maxRedeliveries; n++) {
      const id = redeliveryWorkflowId(eventId, n)
      if ((await startDelivery(temporal, input, { workflowId: id, redelivery: trace })) === 'started') return id
    }
    throw new AppError('conflict', `the event was redelivered ${maxRedeliveries} times`)
  }

  const steering: Steering = {
    retry: (deliveryId, trace) => signal(deliveryId, signals.retryNow, trace),
    cancel: (deliveryId, trace) =>
      ofRunning(deliveryId, () =>
        client.workflowService.requestCancelWorkflowExecution({
          namespace,
          workflowExecution: { workflowId: deliveryId },
          identity: trace.by ?? 'postrider',
          requestId: randomUUID(),
          reason: trace.why ?? '',
        }),
      ),
    redeliver,
    async carryOut(order, deliveryId, trace) {
      if (order.action === 'recheck') await signal(deliveryId, signals.destinationChanged, order.destinationId)
      else await steering[order.action](deliveryId, trace)
    },
  }
  return steering
}
