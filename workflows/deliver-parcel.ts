/** The story of a parcel: one first round for all of its events, then each destination on its own. */

import { ApplicationFailure, isCancellation } from '@temporalio/workflow'
import { failureTypes } from '../src/contracts/delivery.ts'
import { beginEvent, eventStatus, isOpenAt, reasonOf } from '../src/contracts/parcel-progress.ts'
import {
  heldDeliveryId,
  type DeliverParcelInput,
  type EventProgress,
  type ParcelEventStatus,
  type ParcelResult,
  type ParcelRound,
} from '../src/contracts/parcels.ts'
import { createParcel, type Parcel } from './parcel.ts'
import { parcelLocal, record, recordForSure } from './parcel-activities.ts'
import { pursueInParcel } from './parcel-pursuit.ts'
import { steerParcel } from './parcel-steering.ts'
import { traceEnd } from './tracing.ts'

/** Carries up to 100 events to their destinations.
 *  @throws ApplicationFailure DeliveryFailed with the whole result in its details, when any event failed */
export async function deliverParcel(input: DeliverParcelInput): Promise<ParcelResult> {
  const parcel = createParcel(input)
  try {
    const { progress, times, isRecorded } = await firstRound(input)
    parcel.note(progress)
    if (isRecorded) parcel.markRecorded()
    await pursueAll(parcel, times)
  } catch (error) {
    if (!isCancellation(error)) throw error
    parcel.cancelOpen()
    await recordForSure(parcel)
    traceEnds(parcel)
    throw error
  }
  await record(parcel)
  traceEnds(parcel)
  return resultOf(parcel)
}

function traceEnds(parcel: Parcel): void {
  for (const event of parcel.progress()) traceEnd(parcel.eventAt(event.place), outcomeOf(event), event.place)
}

const outcomeOf = (event: EventProgress): ParcelEventStatus | 'left' =>
  event.end === 'left' ? 'left' : eventStatus(event)

/** The first attempts, made inside the workflow task. A fault on this side leaves everything open. */
async function firstRound(input: DeliverParcelInput): Promise<ParcelRound> {
  try {
    return await parcelLocal.attemptParcel(input)
  } catch (error) {
    if (isCancellation(error)) throw error
    return { progress: input.events.map(beginEvent), times: {}, isRecorded: false }
  }
}

async function pursueAll(parcel: Parcel, times: ParcelRound['times']): Promise<void> {
  const destinationIds = new Set(parcel.progress().flatMap((event) => event.destinations.map((d) => d.destinationId)))
  const open = [...destinationIds].filter((id) => parcel.progress().some((event) => isOpenAt(event, id)))
  if (open.length === 0) return
  steerParcel(parcel)
  const pursuits = open.map((destinationId) =>
    parcel.run(() => pursueInParcel(parcel, destinationId, times[destinationId])),
  )
  // When the parcel is cancelled, each pursuit first takes note of what its activity did.
  const failed = (await Promise.allSettled(pursuits)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

function resultOf(parcel: Parcel): ParcelResult {
  const result: ParcelResult = { counts: {}, events: {} }
  for (const event of parcel.progress()) {
    const status = outcomeOf(event)
    const reason = status === 'left' ? 'goes on in a workflow of its own' : reasonOf(event)
    result.counts[status] = (result.counts[status] ?? 0) + 1
    result.events[heldDeliveryId(parcel.eventAt(event.place))] = reason === undefined ? status : `${status}: ${reason}`
  }
  const { failed = 0 } = result.counts
  if (failed === 0) return result
  throw ApplicationFailure.create({
    type: failureTypes.deliveryFailed,
    message: `${failed} of ${parcel.progress().length} events failed`,
    nonRetryable: true,
    category: 'BENIGN',
    details: [result],
  })
}
