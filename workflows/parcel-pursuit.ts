/** One destination of a parcel after the first round: waiting and trying on until no event is open there. */

import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  TimeoutFailure,
} from '@temporalio/workflow'
import type {
  EndpointProgress,
  EventProgress,
  ParcelRetryInput,
  ParcelRetryRecord,
  RoundTimes,
} from '../src/contracts/parcels.ts'
import { destinationOf, endOpen, openEndpointsAt, withDestination } from '../src/contracts/parcel-progress.ts'
import { obeyedRetryAfterMs, retryDelayMs } from '../src/contracts/retry-delay.ts'
import { readDestination } from './activities.ts'
import { createHold } from './hold.ts'
import type { Parcel } from './parcel.ts'
import { lastRound, persistentRecord, readParcelProgress, retried } from './parcel-activities.ts'
import { createRetryClock } from './retry-clock.ts'

/** Events that only wait for a turn come again soon: what the endpoint has to spare decides, and no pause. */
const turnPauseMs = 1_000

const destinationGone = 'the destination was switched off or deleted'
const nothingMade = 'the last attempt was not finished within the retry window'

/** Ends when every event is settled at the destination.
 *  @param times  what the first round told */
export async function pursueInParcel(parcel: Parcel, destinationId: string, times: RoundTimes = {}): Promise<void> {
  const { retry, steering } = parcel
  const clock = createRetryClock(retry.windowMs)
  parcel.clocks.set(destinationId, clock)
  const hold = createHold(destinationId, steering, () => undefined)
  let changed = false
  let isGone = false
  let hadLastRound = false
  let { retryAfterMs } = times
  if (times.pausedTotalMs !== undefined) clock.notePause(times.pausedTotalMs)
  /** End of a pause that an operator's order for one event interrupted. */
  let dueAt: number | undefined
  const stopListening = steering.onDestinationChanged(destinationId, () => {
    changed = true
    void lookWhetherGone()
  })

  /** One that stays, or cannot be read now, is seen by the next round. */
  const lookWhetherGone = async (): Promise<void> => {
    const state = await readDestination(destinationId).catch(() => undefined)
    isGone = state?.kind === 'discarded'
  }

  const open = (): EventProgress[] => parcel.openAt(destinationId)
  const waiting = (): EndpointProgress[] => openEndpointsAt(open(), destinationId)
  const endAll = (end: 'failed' | 'discarded', reason: (endpoint: EndpointProgress) => string): void =>
    parcel.noteAt(
      destinationId,
      open().flatMap((event) => {
        const destination = destinationOf(event, destinationId)
        return destination === undefined ? [] : [withDestination(event, endOpen(destination, end, reason))]
      }),
    )

  const record = async (): Promise<void> => {
    const unrecorded = parcel.unrecorded()
    if (unrecorded.length > 0) await CancellationScope.nonCancellable(() => persistentRecord(unrecorded))
  }

  const note = (record: ParcelRetryRecord | undefined): void => {
    parcel.noteAt(destinationId, record?.progress ?? [])
    if (record?.pausedTotalMs !== undefined) clock.notePause(record.pausedTotalMs)
    retryAfterMs = record?.retryAfterMs
  }

  const pauseMs = (): number => {
    const endpoints = waiting()
    if (endpoints.some(({ waits }) => waits === 'turn')) return turnPauseMs
    const obeyedMs = retryAfterMs === undefined ? undefined : obeyedRetryAfterMs(retryAfterMs, clock.remainingMs())
    const attempt = Math.max(1, ...endpoints.map(({ attempts }) => attempts))
    return retryDelayMs({ ...retry, attempt, retryAfterMs: obeyedMs, random: Math.random })
  }

  const input = (): ParcelRetryInput => ({
    destinationId,
    retry,
    events: open().map((progress) => {
      const { targets: _, ...event } = parcel.eventAt(progress.place)
      return { progress, event }
    }),
  })

  const isStopped = (): boolean => parcel.isSteered() || isGone

  const tryOn = async (): Promise<void> => {
    const activities = hadLastRound
      ? lastRound(destinationId, retry)
      : retried(destinationId, retry, Math.max(1, clock.remainingMs()))
    let known: ParcelRetryRecord | undefined
    const beforeStop = async (): Promise<void> => {
      known = await readParcelProgress(destinationId)
    }
    try {
      note((await unless(isStopped, () => activities.retryInParcel(input()), beforeStop)) ?? known)
    } catch (error) {
      note(isCancellation(error) ? known : recordOf(error))
      if (isCancellation(error)) throw error
    }
  }

  /** Waits for the destination to be resumed. */
  const holdOn = async (): Promise<void> => {
    await record()
    const state = await unless(
      () => parcel.isSteered(),
      () => hold.untilResumed(undefined),
    )
    if (state?.kind === 'discarded') endAll('discarded', () => destinationGone)
    if (state === undefined || state.kind === 'discarded') return
    if (waiting().every(({ attempts }) => attempts === 0)) clock.start()
    clock.notePause(state.pausedTotalMs)
    await tryOn()
  }

  const pauseAndTryOn = async (): Promise<void> => {
    const ms = dueAt === undefined ? pauseMs() : Math.max(1, dueAt - Date.now())
    if (ms >= clock.remainingMs()) {
      const state = await readDestination(destinationId)
      clock.notePause(state.pausedTotalMs)
      // The window stands still: the attempt finds the destination paused, and is not made.
      if (state.kind === 'paused') return tryOn()
    }
    if (ms >= clock.remainingMs()) {
      const isUntried = waiting().some(({ attempts, reason }) => attempts === 0 && reason === undefined)
      if (hadLastRound || !isUntried) return endAll('failed', ({ reason }) => reason ?? nothingMade)
      hadLastRound = true
    } else {
      await record()
      changed = false
      dueAt = Date.now() + ms
      await condition(() => changed || parcel.isSteered(), ms, { summary: destinationId })
      if (parcel.isSteered()) return
    }
    dueAt = undefined
    await tryOn()
  }

  while (open().length > 0) {
    if (parcel.isSteered()) await parcel.standStill()
    else if (isGone) endAll('discarded', () => destinationGone)
    else if (waiting().some(({ waits }) => waits === 'hold')) await holdOn()
    else await pauseAndTryOn()
  }
  stopListening()
}

/** Runs something until it ends, is to be stopped, or the workflow is cancelled.
 *  @param beforeStop  done before it is cancelled
 *  @returns undefined when it was stopped without a result */
async function unless<Result>(
  isStopped: () => boolean,
  work: () => Promise<Result>,
  beforeStop: () => Promise<void> = () => Promise.resolve(),
): Promise<Result | undefined> {
  // What is done before it is cancelled comes first, also when the whole workflow is.
  const scope = new CancellationScope({ cancellable: true, parent: new CancellationScope({ cancellable: false }) })
  let isOver = false
  const stop = async (): Promise<void> => {
    await condition(() => isOver || isStopped()).catch(() => undefined)
    if (isOver) return
    await beforeStop()
    scope.cancel()
  }
  const outer = CancellationScope.current()
  const stopping = stop()
  try {
    return await scope.run(work)
  } catch (error) {
    if (!isCancellation(error) || outer.consideredCancelled) throw error
    return undefined
  } finally {
    isOver = true
    await stopping
  }
}

/** What an activity that Temporal gave up left: in the details of its last failure, or of the last heartbeat. */
function recordOf(error: unknown): ParcelRetryRecord | undefined {
  const failure = error instanceof ActivityFailure ? error.cause : error
  if (failure instanceof ApplicationFailure) return (failure.details as [ParcelRetryRecord?] | undefined)?.[0]
  if (!(failure instanceof TimeoutFailure)) return undefined
  return failure.lastHeartbeatDetails as ParcelRetryRecord | undefined
}
