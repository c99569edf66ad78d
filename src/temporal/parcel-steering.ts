/** What an operator does to events of parcels: orders that the workflow of the parcel carries out. */

import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { signals, type DeliverEventInput, type HeldEventInput, type SteeringTrace } from '../contracts/delivery.ts'
import { destinationOutcome } from '../contracts/parcel-progress.ts'
import {
  steerInParcel,
  type DeliverParcelInput,
  type EventProgress,
  type ParcelSteering,
} from '../contracts/parcels.ts'
import { AppError } from '../errors.ts'
import type { Temporal } from './connection.ts'
import { isNotFound } from './grpc-errors.ts'
import { refuseHeld, type NameOfPaused } from './held.ts'
import { inputOf, readParcelInput } from './parcel-detail.ts'
import { openInput, refuseErased } from './sealed-messages.ts'

/** How long a parcel that is about to be started is waited for, and an order to be carried out, in milliseconds. */
const startLimitMs = 10_000
const orderLimitMs = 10_000
const pauseMs = 50

/** Parcels whose events are kept: many of one parcel are delivered again one after the other. Each has 256 KB mostly. */
const mostKept = 4
const retryAfterSeconds = 5

/** An event, where it stands. */
export interface CarriedEvent {
  parcelId: string
  /** Its place there, from 0. */
  place: number
  receivedAt: Date
  endedAt: Date | null
  destinationIds: string[]
  /** Whether its user was erased. */
  erased: boolean
  /** Until the parcel's first round is over. */
  input: DeliverEventInput | null
  /** Null until then. */
  progress: EventProgress | null
}

export interface CarriedSteeringDependencies {
  temporal: Temporal
  /** The event of a delivery that is in a parcel. */
  find: (deliveryId: string) => Promise<CarriedEvent | undefined>
  /** Takes note of a parcel whose workflow ended from outside: what is open there is cancelled. */
  endLost: (parcelId: string) => Promise<void>
  nameOfPaused: NameOfPaused
}

/** Each answers undefined when no such event is in a parcel: its delivery has a workflow of its own, if any. */
export interface CarriedSteering {
  /** Takes it out of its parcel into a workflow of its own, where it is attempted at once.
   *  @throws AppError conflict when it is over, or paused destinations are all that it waits for; unavailable when its parcel does
   *  not start */
  retry(deliveryId: string, trace: SteeringTrace): Promise<'retrying' | undefined>
  /** @throws AppError conflict when it is over; unavailable when its parcel does not start */
  cancel(deliveryId: string, trace: SteeringTrace): Promise<'cancelling' | undefined>
  /** Asks for a retry or a cancellation, and does not wait for what comes of it.
   *  @throws AppError as the two above; not_found when no parcel has the event */
  order(action: ParcelSteering['action'], deliveryId: string, trace: SteeringTrace): Promise<void>
  /** The event, which is undefined when its user was erased, when it came, and whether it is over. */
  find(deliveryId: string): Promise<{ input: DeliverEventInput | undefined; since: Date; isOver: boolean } | undefined>
  /** Tells a parcel that a destination was resumed, switched off or deleted. */
  tell: (parcelId: string, destinationId: string) => Promise<void>
}

export function createCarriedSteering(dependencies: CarriedSteeringDependencies): CarriedSteering {
  const { temporal, find, endLost, nameOfPaused } = dependencies
  const parcels = new LRUCache<string, DeliverParcelInput>({ max: mostKept })

  const inputFromParcel = async (parcelId: string, deliveryId: string): Promise<HeldEventInput | undefined> => {
    const parcel = parcels.get(parcelId) ?? (await readParcelInput(temporal, parcelId))
    if (parcel === undefined) return undefined
    parcels.set(parcelId, parcel)
    return inputOf(temporal.names, parcel, deliveryId)
  }

  const signal = async (
    parcelId: string,
    name: string,
    argument: unknown,
  ): Promise<'told' | 'over' | 'not started'> => {
    const handle = temporal.client.workflow.getHandle(parcelId)
    try {
      await handle.signal(name, argument)
      return 'told'
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    try {
      const { status } = await handle.describe()
      // It started between the two.
      return status.name === 'RUNNING' ? 'not started' : 'over'
    } catch (error) {
      if (!isNotFound(error)) throw error
      return 'not started'
    }
  }

  /** @returns whether a parcel has the event, and got the order */
  const tryOrder = async (order: ParcelSteering): Promise<boolean> => {
    const deadline = performance.now() + startLimitMs
    for (;;) {
      const event = await find(order.deliveryId)
      if (event === undefined) return false
      if (order.action === 'retry') refuseErased(event.erased)
      if (event.endedAt !== null) throw new AppError('conflict', 'the delivery is over: redeliver it to send it again')
      if (order.action === 'retry')
        await refuseHeld(event.destinationIds, nameOfPaused, () => Promise.resolve(openDestinations(event)))
      const { place } = event
      const deliveryId = temporal.names.workflowId(order.deliveryId)
      const told: ParcelSteering = { ...order, deliveryId, place }
      const became = await signal(event.parcelId, steerInParcel, told)
      if (became === 'told') return true
      if (became === 'over') await endLost(event.parcelId)
      if (performance.now() > deadline)
        throw new AppError('unavailable', 'the delivery is about to begin, which takes longer than usual', {
          retryAfterSeconds,
        })
      await sleep(pauseMs)
    }
  }

  /** @returns whether the event is over; false when it left its parcel, undefined when nothing is known in time */
  const outcomeOf = async (deliveryId: string): Promise<boolean | undefined> => {
    const deadline = performance.now() + orderLimitMs
    while (performance.now() < deadline) {
      const event = await find(deliveryId)
      if (event === undefined) return false
      if (event.endedAt !== null) return true
      await sleep(pauseMs)
    }
    return undefined
  }

  return {
    async retry(deliveryId, trace) {
      if (!(await tryOrder({ action: 'retry', deliveryId, trace }))) return undefined
      await outcomeOf(deliveryId)
      return 'retrying'
    },
    async cancel(deliveryId, trace) {
      if (!(await tryOrder({ action: 'cancel', deliveryId, trace }))) return undefined
      // One that an earlier order took out of the parcel goes on in a workflow of its own.
      return (await outcomeOf(deliveryId)) === false ? undefined : 'cancelling'
    },
    async order(action, deliveryId, trace) {
      if (!(await tryOrder({ action, deliveryId, trace })))
        throw new AppError('not_found', `no parcel has the delivery ${deliveryId}`)
    },
    async find(deliveryId) {
      const event = await find(deliveryId)
      if (event === undefined) return undefined
      const held = event.input ?? (await inputFromParcel(event.parcelId, deliveryId))
      if (held === undefined) return undefined
      const input = event.erased ? undefined : await openInput(temporal.messages, held)
      return { input, since: event.receivedAt, isOver: event.endedAt !== null }
    },
    async tell(parcelId, destinationId) {
      if ((await signal(parcelId, signals.destinationChanged, destinationId)) === 'over') await endLost(parcelId)
    },
  }
}

/** Nothing is settled in the first round. */
const openDestinations = ({ destinationIds, progress }: CarriedEvent): string[] =>
  progress?.destinations
    .filter((destination) => destinationOutcome(destination) === undefined)
    .map(({ destinationId }) => destinationId) ?? destinationIds

/** Parcels that are looked at together. */
const mostEnded = 1_000

/** Parcels whose workflows ended without telling what became of their events, newest first, a thousand at most: an operator
 *  terminated them. */
export async function terminatedParcels({ client, namespace }: Temporal): Promise<string[]> {
  const query = `WorkflowType = 'deliverParcel' AND ExecutionStatus IN ('Terminated', 'TimedOut')`
  const { executions } = await client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: mostEnded })
  return executions.map(({ execution }) => execution?.workflowId ?? '')
}
