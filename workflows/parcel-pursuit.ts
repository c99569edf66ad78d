/** One destination of a parcel after the first round: waiting and trying on until no event is open there. */

import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  isCancellation,
  patched,
  TimeoutFailure,
} from '@temporalio/workflow'
import { mappingIdAt, type DestinationState, type RetrySchedule } from '../src/contracts/delivery.ts'
import { destinationGone, nextStep } from '../src/contracts/next-step.ts'
import {
  destinationOf,
  dueAtOnce,
  endOpen,
  isInTurn,
  isOver,
  isTooLate,
  nextRounds,
  openEndpointsAt,
  withDestination,
  withTurnsHeld,
  type Pace,
  type PaceAt,
} from '../src/contracts/parcel-progress.ts'
import { commonRetries, longestOf } from '../src/contracts/retry-window.ts'
import type { EndpointProgress, ParcelRetryInput, ParcelRetryRecord, RoundTimes } from '../src/contracts/parcels.ts'
import { readDestination } from './activities.ts'
import { createHold, type Hold } from './hold.ts'
import type { Parcel } from './parcel.ts'
import { lastRound, readParcelProgress, recordForSure, retried } from './parcel-activities.ts'
import { createRetryClock, type RetryClock } from './retry-clock.ts'
import { unless } from './unless.ts'

const nothingMade = 'the last attempt was not finished within the retry window'

interface Pursuit {
  readonly parcel: Parcel
  readonly destinationId: string
  /** The schedule at an endpoint, by its id. */
  readonly retryAt: (endpointId: string) => RetrySchedule
  readonly clock: RetryClock
  readonly hold: Hold
  /** Whether a change of the destination was told since the last pause began. */
  isChanged: boolean
  /** Whether the destination was switched off or deleted. */
  isGone: boolean
  /** Endpoints that got one more round because no worker was there in their whole window. */
  readonly hadLastRound: Set<string>
}

/** Ends when every event is settled at the destination.
 *  @param times  what the first round told */
export async function pursueInParcel(parcel: Parcel, destinationId: string, times: RoundTimes = {}): Promise<void> {
  const targets = parcel.progress().map(({ place }) => parcel.eventAt(place).targets)
  const retries = commonRetries(parcel.retry, targets)
  const clock = createRetryClock()
  parcel.clocks.set(destinationId, clock)
  const hold = createHold(destinationId, parcel.steering, parcel.inTurn, () => undefined)
  const pursuit: Pursuit = {
    parcel,
    destinationId,
    retryAt: (endpointId) => retries(destinationId, endpointId),
    clock,
    hold,
    isChanged: false,
    isGone: false,
    hadLastRound: new Set(),
  }
  if (times.pausedTotalMs !== undefined) clock.notePause(times.pausedTotalMs)
  const stopListening = parcel.steering.onDestinationChanged(destinationId, () => {
    pursuit.isChanged = true
    void lookWhetherGone(pursuit)
  })
  while (parcel.openAt(destinationId).length > 0) {
    if (parcel.isSteered()) await parcel.standStill()
    else if (pursuit.isGone) endAll(pursuit, 'discarded', () => destinationGone)
    else if (waiting(pursuit).some(({ waits }) => waits === 'hold')) await holdOn(pursuit)
    else await pauseAndTryOn(pursuit)
  }
  stopListening()
  // Others may wait for hours: until they have ended, nothing else tells how it ended here.
  if (!parcel.progress().every(isOver) && patched('tells-each-end-in-parcel')) await recordForSure(parcel)
}

/** Finds out whether the destination was switched off or deleted. The next round sees one that stays, or that cannot be read now. */
async function lookWhetherGone(pursuit: Pursuit): Promise<void> {
  const state = await readDestination(pursuit.parcel.inTurn, pursuit.destinationId).catch(() => undefined)
  pursuit.isGone = state?.kind === 'discarded'
}

const waiting = ({ parcel, destinationId }: Pursuit): EndpointProgress[] =>
  openEndpointsAt(parcel.openAt(destinationId), destinationId)

const paceOf = ({ clock }: Pursuit, retry: RetrySchedule): Pace => ({
  retry,
  windowEndsAt: clock.endsAt(retry.windowMs),
})

const paceAt =
  (pursuit: Pursuit): PaceAt =>
  (endpointId) =>
    paceOf(pursuit, pursuit.retryAt(endpointId))

/** That of the open endpoint that is tried for longest. */
const longestRetry = (pursuit: Pursuit): RetrySchedule =>
  longestOf(
    waiting(pursuit).map(({ endpointId }) => pursuit.retryAt(endpointId)),
    pursuit.parcel.retry,
  )

const moment = () => ({ now: Date.now(), random: Math.random })

function endAll(
  { parcel, destinationId }: Pursuit,
  end: 'failed' | 'discarded',
  reason: (endpoint: EndpointProgress) => string,
  isMeant?: (endpoint: EndpointProgress) => boolean,
): void {
  const ended = parcel.openAt(destinationId).flatMap((event) => {
    const destination = destinationOf(event, destinationId)
    return destination === undefined ? [] : [withDestination(event, endOpen(destination, end, reason, isMeant))]
  })
  parcel.noteAt(destinationId, ended)
}

function note({ parcel, destinationId, clock }: Pursuit, record: ParcelRetryRecord | undefined): void {
  parcel.noteAt(destinationId, record?.progress ?? [])
  if (record?.pausedTotalMs !== undefined) clock.notePause(record.pausedTotalMs)
}

/** Input of the activity that tries on.
 *  @param atOnce  whether all open endpoints are attempted, or only those that are due */
function retryInput(pursuit: Pursuit, retry: RetrySchedule, atOnce: boolean): ParcelRetryInput {
  const { parcel, destinationId } = pursuit
  const events = parcel.openAt(destinationId).map((progress) => {
    const { targets, ...event } = parcel.eventAt(progress.place)
    const mappingId = mappingIdAt(targets, destinationId)
    const mapped = mappingId !== undefined && { mappingId }
    return { progress: atOnce ? dueAtOnce(progress) : progress, event, ...mapped }
  })
  const others = waiting(pursuit)
    .map(({ endpointId }) => [endpointId, pursuit.retryAt(endpointId)] as const)
    .filter(([, schedule]) => !isSame(schedule, retry))
  return { destinationId, retry, events, ...(others.length > 0 && { retryAtEndpoints: Object.fromEntries(others) }) }
}

const isSame = (one: RetrySchedule, other: RetrySchedule): boolean =>
  one.windowMs === other.windowMs && one.initialMs === other.initialMs && one.maxMs === other.maxMs

async function tryOn(pursuit: Pursuit, { atOnce }: { atOnce: boolean }): Promise<void> {
  const { parcel, destinationId, clock } = pursuit
  const retry = longestRetry(pursuit)
  const activities = hadLastRound(pursuit, waiting(pursuit))
    ? lastRound(destinationId, retry)
    : retried(destinationId, retry, Math.max(1, clock.remainingMs(retry.windowMs)))
  let known: ParcelRetryRecord | undefined
  const beforeStop = async (): Promise<void> => {
    known = await readParcelProgress(parcel.inTurn, destinationId)
  }
  const isStopped = (): boolean => parcel.isSteered() || pursuit.isGone
  const work = () => activities.retryInParcel(retryInput(pursuit, retry, atOnce))
  try {
    note(pursuit, (await unless(isStopped, work, beforeStop)) ?? known)
  } catch (error) {
    note(pursuit, isCancellation(error) ? known : recordOf(error))
    if (isCancellation(error)) throw error
  }
}

/** Lets what had no turn before the destination was found paused wait with the others. */
function holdTurns(pursuit: Pursuit): void {
  const { parcel, destinationId } = pursuit
  if (!waiting(pursuit).some(isInTurn) || !patched('holds-turns-in-parcel')) return
  const held = parcel.openAt(destinationId).map((event) => withTurnsHeld(event, destinationId, Date.now()))
  parcel.noteAt(destinationId, held)
}

/** Waits for the destination to be resumed. */
async function holdOn(pursuit: Pursuit): Promise<void> {
  const { parcel, hold, clock } = pursuit
  holdTurns(pursuit)
  await recordForSure(parcel)
  const state = await unless(
    () => parcel.isSteered(),
    () => hold.untilResumed(undefined),
  )
  if (state === undefined) return
  const pace = paceOf(pursuit, longestRetry(pursuit))
  const step = nextStep({ ...pace, attempts: mostAttempts(pursuit) }, { kind: 'resumed', state }, moment())
  if (step.kind === 'settle') return endAll(pursuit, 'discarded', () => destinationGone)
  clock.notePause(state.pausedTotalMs)
  if (step.kind === 'attempt' && step.beginsWindow) clock.start()
  await tryOn(pursuit, { atOnce: true })
}

const mostAttempts = (pursuit: Pursuit): number => Math.max(0, ...waiting(pursuit).map(({ attempts }) => attempts))

async function pauseAndTryOn(pursuit: Pursuit): Promise<void> {
  const rounds = nextRounds(waiting(pursuit), paceAt(pursuit), moment())
  const tooLate = () => rounds.filter((round) => isTooLate(round, paceAt(pursuit)))
  if (tooLate().length > 0) {
    const state = await readAgain(pursuit)
    // The windows stand still: the attempt finds the destination paused, and is not made.
    if (state.kind === 'paused') return tryOn(pursuit, { atOnce: true })
  }
  const over = tooLate().flatMap(({ endpoints }) => endpoints)
  if (over.length > 0) return endWithWindow(pursuit, over)
  const isChanged = await pauseUntil(pursuit, Math.min(...rounds.map(({ at }) => at)))
  if (!pursuit.parcel.isSteered()) await tryOn(pursuit, { atOnce: isChanged })
}

/** Reads the destination again: a pause meanwhile has given time back. */
async function readAgain({ parcel, destinationId, clock }: Pursuit): Promise<DestinationState> {
  const state = await readDestination(parcel.inTurn, destinationId)
  clock.notePause(state.pausedTotalMs)
  return state
}

/** Waits until a moment.
 *  @param at  in milliseconds since 1970
 *  @returns whether a change of the destination ended the pause */
async function pauseUntil(pursuit: Pursuit, at: number): Promise<boolean> {
  const { parcel, destinationId } = pursuit
  await recordForSure(parcel)
  pursuit.isChanged = false
  const ms = Math.max(1, at - Date.now())
  return condition(() => pursuit.isChanged || parcel.isSteered(), ms, { summary: destinationId })
}

/** The window of these endpoints is over before their next round: events that nobody was there for get one more, the others have failed. */
async function endWithWindow(pursuit: Pursuit, over: readonly EndpointProgress[]): Promise<void> {
  const ids = new Set(over.map(({ endpointId }) => endpointId))
  if (hadLastRound(pursuit, over) || !over.some((endpoint) => isOwedAttempt(pursuit, endpoint)))
    return endAll(
      pursuit,
      'failed',
      ({ reason }) => reason ?? nothingMade,
      ({ endpointId }) => ids.has(endpointId),
    )
  for (const id of ids) pursuit.hadLastRound.add(id)
  await tryOn(pursuit, { atOnce: true })
}

const hadLastRound = (pursuit: Pursuit, endpoints: readonly EndpointProgress[]): boolean =>
  endpoints.every(({ endpointId }) => pursuit.hadLastRound.has(endpointId))

function isOwedAttempt(pursuit: Pursuit, { endpointId, attempts, reason }: EndpointProgress): boolean {
  const outcome = { kind: 'exhausted', reason: reason ?? nothingMade, wasTurnedAway: reason !== undefined } as const
  return nextStep({ ...paceAt(pursuit)(endpointId), attempts }, outcome, moment()).kind === 'attempt'
}

/** What an activity that Temporal gave up left: in the details of its last failure, or of the last heartbeat. */
function recordOf(error: unknown): ParcelRetryRecord | undefined {
  const failure = error instanceof ActivityFailure ? error.cause : error
  if (failure instanceof ApplicationFailure) return (failure.details as [ParcelRetryRecord?] | undefined)?.[0]
  if (!(failure instanceof TimeoutFailure)) return undefined
  return failure.lastHeartbeatDetails as ParcelRetryRecord | undefined
}
