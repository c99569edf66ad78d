/** One round of attempts for the events of a parcel: a few at a time at each endpoint, so that one that is slow holds up none
 *  of the others. */

import type { Attempt, AttemptOutcome } from '../src/contracts/delivery.ts'
import {
  afterAttempt,
  destinationOf,
  openEndpoints,
  settleDestination,
  withDestination,
  type Pace,
} from '../src/contracts/parcel-progress.ts'
import {
  heldDeliveryId,
  type EndpointProgress,
  type EventProgress,
  type HeldParcelEvent,
  type RoundTimes,
} from '../src/contracts/parcels.ts'
import type { AttemptKind } from '../src/delivery/admission.ts'
import { gatedEndpoint } from '../src/delivery/gate.ts'
import { isBounded, type SetBounds } from '../src/delivery/set-bounds.ts'
import { deferred } from './attempt-outcome.ts'
import { attempt, type AttemptDependencies } from './delivery.ts'

/** Most attempts of one parcel side by side at one endpoint. */
const perEndpoint = 16

/** No attempt of a round begins later, in milliseconds after its beginning. */
const roundMs = 6_000

/** A round of attempts. */
export interface Round {
  kind: AttemptKind
  /** The pace at an endpoint of a destination, by their ids. */
  paceAt: (destinationId: string, endpointId: string) => Pace
  /** The latest due time at which an endpoint gets an attempt, in milliseconds since 1970. */
  dueBy: number
  /** Awaited before each attempt: others may go first. */
  turn?: () => Promise<void> | undefined
  /** Most bytes of evidence of one attempt. */
  evidenceBytes: number
  /** Called with each event when its last attempt of the round is over. */
  onThrough: (event: EventProgress) => void
}

export interface RoundEvent {
  event: Omit<HeldParcelEvent, 'targets'>
  progress: EventProgress
  /** The only destination at which attempts are made; absent: all. */
  onlyAt?: string
  /** Names the mapping that a destination applies; undefined for none. */
  mappingAt: (destinationId: string) => string | undefined
}

export interface RoundResult {
  /** The events of the round, after it. */
  progress: EventProgress[]
  /** What the round found out about each destination, by its id. */
  times: Record<string, RoundTimes>
}

/** What is due at one endpoint, and who sees to it. */
interface Lane {
  queue: Due[]
  /** One is about to ask for a place. @returns to be called when it has one, or has ended; further calls do nothing */
  ask: () => () => void
  /** Whether another one waits for its place, who sees to what is left. */
  isDoneByOther: () => boolean
}

/** One attempt that is to be made. */
interface Due {
  event: RoundEvent
  destinationId: string
  endpointId: string
  /** How many were made before. */
  attempts: number
  /** The newest of them. */
  made: readonly Attempt[]
}

export async function attemptRound(
  dependencies: AttemptDependencies,
  { kind, paceAt, dueBy, turn, evidenceBytes, onThrough }: Round,
  events: readonly RoundEvent[],
): Promise<RoundResult> {
  const lastBegin = performance.now() + roundMs
  // All endpoints share one random number, so that what failed together comes again together.
  const chance = Math.random()
  const progress = new Map(events.map((one) => [one.progress.place, one.progress]))
  const toCome = new Map<number, number>()
  const queues = new Map<string, Due[]>()
  const times: RoundResult['times'] = {}
  for (const due of events.flatMap((event) => dueOf(event, dueBy))) {
    const { place } = due.event.progress
    toCome.set(place, (toCome.get(place) ?? 0) + 1)
    const queue = queues.get(due.endpointId)
    if (queue === undefined) queues.set(due.endpointId, [due])
    else queue.push(due)
  }

  const note = (due: Due, outcome: AttemptOutcome): void => {
    const { place } = due.event.progress
    const event = progress.get(place)
    if (event === undefined) return
    const after = noteOutcome(event, due, (endpoint) =>
      afterAttempt(endpoint, outcome, paceAt(due.destinationId, due.endpointId), {
        now: Date.now(),
        random: () => chance,
      }),
    )
    progress.set(place, after)
    noteTimes((times[due.destinationId] ??= {}), outcome)
    const left = (toCome.get(place) ?? 0) - 1
    toCome.set(place, left)
    if (left === 0) onThrough(after)
  }

  /** Defers all that is left for an endpoint that takes no more, without asking for each. */
  const deferRest = (queue: Due[], outcome: AttemptOutcome): void => {
    for (const due of queue.splice(0)) note(due, outcome)
  }

  const work = async ({ queue, isDoneByOther, ask }: Lane): Promise<void> => {
    for (let due = queue.shift(); due !== undefined; due = queue.shift()) {
      await turn?.()
      if (performance.now() > lastBegin) {
        const left = [due, ...queue.splice(0)]
        return deferRest(left, outOfTime(dependencies, kind, due, left.length))
      }
      const { event } = due.event
      if (!isStillDue(progress.get(due.event.progress.place), due, kind)) {
        note(due, { kind: 'deferred' })
        continue
      }
      const { sourceId, messageId, message, receivedAt, traceparent } = event
      const { destinationId, endpointId } = due
      const mappingId = due.event.mappingAt(destinationId)
      const input = {
        ...{ sourceId, messageId, message, destinationId, endpointId },
        ...(mappingId && { mappingId }),
        ...(traceparent && { traceparent }),
      }
      const context = {
        event: String(due.event.progress.place),
        deliveryId: heldDeliveryId(event),
        acceptedAt: Date.parse(receivedAt),
        number: due.attempts + 1,
        told: due.made,
        attempts: 1 + queue.length,
        onAdmitted: ask(),
        evidenceBytes,
      }
      const outcome = await attempt(dependencies, kind, input, context).catch(faultOfOurs)
      note(due, outcome)
      if (outcome.kind === 'deferred') deferRest(queue, outcome)
      context.onAdmitted()
      if (isDoneByOther()) return
    }
  }

  /** Sees to all that is due at one endpoint, some side by side. Each asks for a place when the one before has got its own: a parcel that
   *  is turned away counts once among those that wait for the endpoint. Where bounds are set for it, never more than one asks. */
  const workThrough = async (queue: Due[]): Promise<void> => {
    const workers: Promise<void>[] = []
    const [first] = queue
    const bounds: Partial<SetBounds> = (first && boundsOf(dependencies, first)) ?? {}
    const most = Math.min(perEndpoint, bounds.maxConcurrent ?? perEndpoint)
    let active = 0
    let asking = 0
    const ask = (): (() => void) => {
      asking++
      let asks = true
      return () => {
        if (!asks) return
        asks = false
        asking--
        begin()
      }
    }
    const isDoneByOther = (): boolean => isBounded(bounds) && asking > 0
    const begin = (): void => {
      if (active === most || queue.length === 0 || isDoneByOther()) return
      active++
      workers.push(work({ queue, ask, isDoneByOther }).finally(() => active--))
    }
    begin()
    for (const worker of workers) await worker
  }

  await Promise.all([...queues.values()].map(workThrough))
  return { progress: [...progress.values()], times }
}

/** The endpoint, as far as the gate asks for it; undefined where it is there no more. */
function boundsOf({ findDestination }: AttemptDependencies, { destinationId, endpointId }: Due) {
  const endpoint = findDestination(destinationId)?.settings.webhooks.find(({ id }) => id === endpointId)
  return endpoint && gatedEndpoint(endpoint)
}

/** The outcome for attempts for which the round has no time. Where bounds are set for the endpoint they come in their turn, before what is
 *  new. */
function outOfTime(dependencies: AttemptDependencies, kind: AttemptKind, due: Due, attempts: number): AttemptOutcome {
  const endpoint = boundsOf(dependencies, due)
  if (endpoint === undefined || !isBounded(endpoint)) return { kind: 'deferred' }
  return deferred(dependencies.gate.turnAway(endpoint, kind, attempts))
}

function dueOf(event: RoundEvent, dueBy: number): Due[] {
  const { progress, onlyAt } = event
  return progress.destinations
    .filter(({ destinationId }) => onlyAt === undefined || destinationId === onlyAt)
    .flatMap((destination) =>
      openEndpoints(destination)
        .filter(({ dueAt = 0 }) => dueAt <= dueBy)
        .map(({ endpointId, attempts, made }) => ({
          event,
          destinationId: destination.destinationId,
          endpointId,
          attempts,
          made,
        })),
    )
}

/** Whether an attempt is still to be made: in a retry, the success of another endpoint may have settled it meanwhile; first attempts
 *  are all made. */
function isStillDue(event: EventProgress | undefined, { destinationId, endpointId }: Due, kind: AttemptKind): boolean {
  if (kind === 'first' || event === undefined) return true
  const destination = destinationOf(event, destinationId)
  return destination !== undefined && openEndpoints(destination).some((endpoint) => endpoint.endpointId === endpointId)
}

function noteOutcome(
  event: EventProgress,
  { destinationId, endpointId }: Due,
  after: (endpoint: EndpointProgress) => EndpointProgress,
): EventProgress {
  const destination = destinationOf(event, destinationId)
  if (destination === undefined) return event
  const endpoints = destination.endpoints.map((endpoint) =>
    endpoint.endpointId === endpointId && endpoint.end === undefined ? after(endpoint) : endpoint,
  )
  return withDestination(event, settleDestination({ ...destination, endpoints }))
}

function noteTimes(times: RoundTimes, outcome: AttemptOutcome): void {
  if (outcome.kind !== 'unavailable' && outcome.kind !== 'deferred') return
  const { pausedTotalMs } = outcome
  if (pausedTotalMs !== undefined) times.pausedTotalMs = Math.max(times.pausedTotalMs ?? 0, pausedTotalMs)
}

/** The outcome of an attempt that was not made, or of which nobody knows what came: it is made again. */
const faultOfOurs = (): AttemptOutcome => ({ kind: 'deferred' })
