/** The activities of `deliverParcel`: rounds of attempts for many events, and the list that tells where each stands. */

import { Context } from '@temporalio/activity'
import { failureTypes, mappingIdAt, type HeldEventInput } from '../src/contracts/delivery.ts'
import {
  beginEvent,
  evidenceBytesOf,
  isOpenAt,
  isUntriedAt,
  isTooLate,
  nextRounds,
  openEndpointsAt,
  withFurther,
  type NextRound,
  type Pace,
  type PaceAt,
} from '../src/contracts/parcel-progress.ts'
import type {
  EndpointProgress,
  EventProgress,
  ParcelActivities,
  ParcelRetryInput,
  HeldParcelEvent,
  ParcelRetryRecord,
} from '../src/contracts/parcels.ts'
import { commonRetries } from '../src/contracts/retry-window.ts'
import { deliveredAtOnce } from '../src/contracts/taken-at-once.ts'
import type { Database } from '../src/db/database.ts'
import { commonTurn } from '../src/db/inbox.ts'
import {
  recordedAttempts,
  recordedProgress,
  recordProgress,
  type KnownProgress,
  type ParcelRecord,
} from '../src/db/parcel-progress.ts'
import type { ParcelLoad } from '../src/delivery/parcel-load.ts'
import { within } from '../src/within.ts'
import type { AttemptDependencies } from './delivery.ts'
import { heartbeating } from './heartbeating.ts'
import { createOutcomeWriter, type OutcomeWriter } from './outcome-writer.ts'
import { attemptRound, type RoundEvent, type RoundResult } from './parcel-round.ts'
import { isWoken, recordOfLastTry, thisTry, tryAgain, windowEndsAt } from './trying-on.ts'

/** Pause before the database is asked again what a lost round has sent, while it does not answer, in milliseconds. */
const unreadPauseMs = 1_000

/** How long a round waits for the list to be written, in milliseconds; it is written later otherwise. */
const recordLimitMs = 2_000

export interface ParcelDependencies extends AttemptDependencies {
  database: Database
  /** How far the activity of a destination is that waits in Temporal. */
  pendingRecord: (workflowId: string, destinationId: string) => Promise<ParcelRetryRecord | undefined>
  /** Starts a workflow for one event that leaves its parcel; one that runs already is left as it is. */
  startEvent: (input: HeldEventInput, parcelId: string) => Promise<void>
  load: Pick<ParcelLoad, 'begin' | 'isFresh' | 'precedence'>
  /** Told that events gave up places in lines of users. */
  onLineMoved: () => void
}

export function createParcelActivities(dependencies: ParcelDependencies): ParcelActivities {
  const { database, pendingRecord, startEvent, load, recovery } = dependencies
  const outcomes = createOutcomeWriter(async (records) => {
    if (await recordProgress(database, records)) dependencies.onLineMoved()
  })

  return {
    async attemptParcel({ events, retry }) {
      const isFirst = load.isFresh(parcelId())
      const recorder = createRecorder(database, outcomes, { parcelId: parcelId(), isFirst })
      const underWay = load.begin(commonTurn(events), events.length)
      try {
        const known = isFirst ? new Map<number, KnownProgress>() : await recorder.known()
        const progress = events.map((event, place) => knownProgress(known.get(place), beginEvent(event, place)))
        const open = progress.filter(({ place }) => !known.has(place))
        const now = Date.now()
        const onThrough = (event: EventProgress): void => {
          recorder.note(event)
          underWay.through()
        }
        const retries = commonRetries(
          retry,
          events.map(({ targets }) => targets),
        )
        const paceAt = (destinationId: string, endpointId: string): Pace => {
          const common = retries(destinationId, endpointId)
          return { retry: common, windowEndsAt: now + common.windowMs }
        }
        const turn = () => load.precedence.turnOf(parcelId())
        const evidenceBytes = evidenceBytesOf(progress)
        const round = { kind: 'first', paceAt, dueBy: now, turn, evidenceBytes, onThrough } as const
        const { progress: after, times } = await attemptRound(dependencies, round, placed(open, events))
        for (const event of after) progress[event.place] = event
        return { progress, times: openTimes(times, progress), isRecorded: await recorder.end(after) }
      } finally {
        underWay.end()
        load.precedence.end(parcelId())
      }
    },

    async retryInParcel(input) {
      const { events, destinationId } = input
      recovery.forget(thisTry())
      const paceAt = paceWithin(input)
      const earlier = recordOfLastTry<ParcelRetryRecord>()
      const known = new Map(earlier?.progress.map((event) => [event.place, event]))
      const progress = events.map((event) => known.get(event.progress.place) ?? event.progress)
      const recorder = createRecorder(database, outcomes, { parcelId: parcelId(), destinationId })
      if (mayHaveLostRound(earlier, progress, destinationId)) {
        const recorded = await recorder.known().catch((error: unknown) => {
          throw tryAgain(failureTypes.endpointUnavailable, unreadable(error), { progress }, unreadPauseMs)
        })
        for (const [index, event] of progress.entries())
          progress[index] = withFurther(event, knownProgress(recorded.get(event.place), event), destinationId)
      }
      const open = events.flatMap(({ event, mappingId }, index) => {
        const before = progress[index]
        return before !== undefined && isOpenAt(before, destinationId)
          ? [{ event, progress: before, onlyAt: destinationId, mappingAt: () => mappingId }]
          : []
      })
      const dueBy = isWoken() ? Infinity : Date.now()
      const evidenceBytes = evidenceBytesOf(progress)
      const round = { kind: 'retry', dueBy, evidenceBytes, onThrough: recorder.note } as const
      const result = await heartbeating(
        () => attemptRound(dependencies, { ...round, paceAt: (_, endpointId) => paceAt(endpointId) }, open),
        () => ({ progress }),
      )
      for (const event of result.progress) progress[progress.findIndex(({ place }) => place === event.place)] = event
      await recorder.end(result.progress)
      const record: ParcelRetryRecord = {
        ...result.times[destinationId],
        progress,
        endedTry: Context.current().info.attempt,
      }
      const waiting = openEndpointsAt(progress, destinationId)
      const isHeld = waiting.some(({ waits }) => waits === 'hold')
      if (waiting.length === 0 || isHeld || Context.current().cancellationSignal.aborted) return record
      const now = Date.now()
      const rounds = nextRounds(waiting, paceAt, { now, random: Math.random })
      if (rounds.some((next) => endsBeforeOthers(next, paceAt))) return record
      const inMs = Math.max(1, Math.min(...rounds.map(({ at }) => at)) - now)
      // A round comes when the first of its turns is: what is woken is only what was kept away, or failed before this round.
      for (const endpointId of new Set(waiting.map((endpoint) => endpoint.endpointId))) {
        const endpoints = waiting.filter((endpoint) => endpoint.endpointId === endpointId)
        const waitedMs = now - Math.min(...endpoints.map(({ foundAt = now }) => foundAt))
        const isDown = endpoints.some((endpoint) => endpoint.isDown)
        recovery.note(endpointId, thisTry(), { isDown, comesInMs: inMs, waitedMs: Math.max(0, waitedMs) })
      }
      throw tryAgain(failureTypes.endpointUnavailable, messageOf(waiting), record, inMs)
    },

    readParcelProgress: (destinationId) => pendingRecord(parcelId(), destinationId),

    async startFromParcel({ place, input }) {
      const earlier = await recordedAttempts(database, parcelId(), place)
      await startEvent({ ...input, ...(earlier.length > 0 && { earlier }) }, parcelId())
      await outcomes.write({ parcelId: parcelId(), progress: [{ place, destinations: [], end: 'left' }] })
    },

    recordParcel: (progress) => outcomes.write({ parcelId: parcelId(), progress }),
  }
}

/** The pace at the endpoints of an activity, whose time is what is left of the longest of their windows. */
function paceWithin({ retry, retryAtEndpoints = {} }: ParcelRetryInput): PaceAt {
  const longestEndsAt = windowEndsAt()
  return (endpointId) => {
    const own = retryAtEndpoints[endpointId] ?? retry
    return { retry: own, windowEndsAt: longestEndsAt - (retry.windowMs - own.windowMs) }
  }
}

/** Whether a window of some endpoints is over while others are tried on: the workflow ends it. */
const endsBeforeOthers = (round: NextRound, paceAt: PaceAt): boolean =>
  isTooLate(round, paceAt) && round.endpoints.some(({ endpointId }) => paceAt(endpointId).windowEndsAt < windowEndsAt())

const parcelId = (): string => Context.current().info.workflowExecution?.workflowId ?? ''

const placed = (progress: readonly EventProgress[], events: readonly HeldParcelEvent[]): RoundEvent[] =>
  progress.flatMap((one) => {
    const event = events[one.place]
    if (event === undefined) return []
    return [{ event, progress: one, mappingAt: (destinationId) => mappingIdAt(event.targets, destinationId) }]
  })

/** How far an event is by what was written down of it: a round that was lost with its node is made again for those of which nothing
 *  was.
 *  @param before  how far it is unless more is known */
function knownProgress(known: KnownProgress | undefined, before: EventProgress): EventProgress {
  if (known === undefined) return before
  return 'progress' in known ? known.progress : deliveredAtOnce(before, known.taken)
}

interface Recorder {
  /** Reads what a round that was lost has written.
   *  @throws Error when the database does not answer: what was sent is not known then */
  known(): Promise<Map<number, KnownProgress>>
  /** Takes note of an event that this round is through with. */
  note: (event: EventProgress) => void
  /** Writes the events that were not written yet. @returns whether all are written now */
  end(events: readonly EventProgress[]): Promise<boolean>
}

/** Writes outcomes while a round goes on, and never holds it up for long: a database that is away gets them later.
 *  @param round  of which parcel it is, and what its accounts tell of */
function createRecorder(database: Database, outcomes: OutcomeWriter, round: Omit<ParcelRecord, 'progress'>): Recorder {
  let waiting: EventProgress[] = []
  let isComing = false
  let written = Promise.resolve(true)

  const isDone = (writing: Promise<void>): Promise<boolean> =>
    within(recordLimitMs, 'the database', writing).then(
      () => true,
      () => false,
    )

  /** All that came until the statement begins. What comes during it has one of its own: nothing else may come for as long as an endpoint hangs. */
  const takeWaiting = (): ParcelRecord => {
    const progress = waiting
    waiting = []
    isComing = false
    return { ...round, progress }
  }

  return {
    known: () => within(recordLimitMs, 'the database', recordedProgress(database, round.parcelId)),
    note(event) {
      waiting.push(event)
      if (isComing) return
      isComing = true
      const [before, now] = [written, isDone(outcomes.writeSoon(takeWaiting))]
      written = before.then(async (isWritten) => (await now) && isWritten)
    },
    async end(events) {
      outcomes.hurry()
      // Events that were written on the way need no second write, unless one of the first failed.
      return (await written) || isDone(outcomes.write({ ...round, progress: events }))
    },
  }
}

/** The times of the destinations at which an event is open. */
const openTimes = (times: RoundResult['times'], progress: readonly EventProgress[]): RoundResult['times'] =>
  Object.fromEntries(Object.entries(times).filter(([id]) => progress.some((event) => isOpenAt(event, id))))

/** Whether attempts may have been made of which Temporal does not know. */
function mayHaveLostRound(
  earlier: ParcelRetryRecord | undefined,
  progress: readonly EventProgress[],
  destinationId: string,
): boolean {
  const { attempt } = Context.current().info
  if (attempt > 1) return earlier?.endedTry !== attempt - 1
  return progress.some((event) => isUntriedAt(event, destinationId))
}

const unreadable = (error: unknown): string =>
  `not attempted: the database, which knows what was taken, does not answer (${error instanceof Error ? error.message : String(error)})`

const messageOf = (waiting: readonly EndpointProgress[]): string => {
  const reasons = new Map<string, number>()
  for (const { reason = 'not attempted' } of waiting) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  return [...reasons].map(([reason, count]) => `${count} times: ${reason}`).join('; ')
}
