/** What an operator does to single events of a parcel. */

import { defineSignal, setHandler } from '@temporalio/workflow'
import { withoutEvidence } from '../src/contracts/attempts.ts'
import type { HeldEventInput, DestinationStanding, EndpointResult } from '../src/contracts/delivery.ts'
import { destinationOutcome, isOver, openEndpoints } from '../src/contracts/parcel-progress.ts'
import {
  heldDeliveryId,
  steerInParcel,
  type DestinationProgress,
  type EndpointProgress,
  type EventProgress,
  type ParcelSteering,
} from '../src/contracts/parcels.ts'
import type { Parcel } from './parcel.ts'
import { startFromParcel } from './parcel-activities.ts'

const steerSignal = defineSignal<[ParcelSteering]>(steerInParcel)

/** Takes orders for events from now on. */
export function steerParcel(parcel: Parcel): void {
  setHandler(steerSignal, (order) => carryOut(parcel, order))
}

async function carryOut(parcel: Parcel, order: ParcelSteering): Promise<void> {
  const isMeant = ({ place }: EventProgress): boolean =>
    order.place === undefined ? heldDeliveryId(parcel.eventAt(place)) === order.deliveryId : place === order.place
  await parcel.whileStill(async () => {
    const event = parcel.progress().find(isMeant)
    if (event === undefined || isOver(event)) return
    if (order.action === 'cancel') return parcel.note([{ ...event, end: 'cancelled' }])
    await startFromParcel({ place: event.place, input: inputOf(parcel, event) })
    parcel.note([{ ...event, end: 'left' }])
  })
}

/** Input of the workflow in which an event goes on: where each destination stands. An open one is tried at once. */
function inputOf(parcel: Parcel, { place, destinations }: EventProgress): HeldEventInput {
  const { receivedAt, ...event } = parcel.eventAt(place)
  const resumed = destinations.map((destination) => standingOf(parcel, destination))
  return { ...event, retry: parcel.retry, acceptedAt: receivedAt, resumed }
}

function standingOf(parcel: Parcel, destination: DestinationProgress): DestinationStanding {
  const { destinationId, endpoints } = destination
  const settled = endpoints.filter(({ end }) => end !== undefined).map(resultOf)
  const outcome = destinationOutcome(destination)
  if (outcome !== undefined) return { kind: 'settled', result: { destinationId, outcome, endpoints: settled } }
  return {
    kind: 'held',
    destinationId,
    clock: parcel.clocks.get(destinationId)?.read() ?? { startedAt: Date.now(), pausedNow: 0 },
    settled,
    waiting: openEndpoints(destination).map(({ endpointId, attempts, made }) => {
      const lastAttempt = made.at(-1)
      return {
        endpointId,
        attempts,
        isOrdered: true,
        ...(lastAttempt && { lastAttempt: withoutEvidence(lastAttempt) }),
      }
    }),
  }
}

function resultOf({ endpointId, end = 'superseded', attempts, made, reason }: EndpointProgress): EndpointResult {
  const lastAttempt = made.at(-1)
  return {
    endpointId,
    outcome: end,
    attempts,
    ...(reason !== undefined && { reason }),
    ...(end === 'failed' && lastAttempt && { lastAttempt: withoutEvidence(lastAttempt) }),
  }
}
