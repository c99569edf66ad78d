/** One endpoint after its first attempt: its course, and what changes it from outside. */

import { CancellationScope, isCancellation, patched, Trigger } from '@temporalio/workflow'
import { withoutEvidence } from '../src/contracts/attempts.ts'
import type {
  AttemptOutcome,
  DeliveryTarget,
  HeldEventInput,
  DestinationState,
  EndpointResult,
  HeldEndpoint,
} from '../src/contracts/delivery.ts'
import { destinationGone, endpointResult, notAttempted, type Wait } from '../src/contracts/next-step.ts'
import { retryAt } from '../src/contracts/retry-window.ts'
import { readDestination } from './activities.ts'
import { collapsed, readsOnce } from './change-reads.ts'
import { createEndpointAttempts, createPause, type Runs } from './endpoint-attempts.ts'
import { endBy, followCourse, type Course, type End } from './endpoint-course.ts'
import type { InTurn } from './one-at-a-time.ts'
import type { RetryClock } from './retry-clock.ts'
import type { Steering } from './steering.ts'

/** What a pursuit shares with the destination it belongs to. */
export interface PursuitContext {
  input: HeldEventInput
  target: DeliveryTarget
  clock: RetryClock
  steering: Steering
  inTurn: InTurn
  /** Takes note of a wait after an attempt that failed, or that was not made because the endpoint is down. */
  noteWait: (wait: Wait) => void
  /** Waits until the destination is no longer paused; shared by its endpoints.
   *  @param since  changes that were told when it was last known to be paused; undefined: it is read first */
  untilResumed: (since: number | undefined) => Promise<DestinationState>
  /** Its activities that wait or run. */
  runs: Runs
}

export interface Pursuit {
  endpointId: string
  result: PromiseLike<EndpointResult>
  /** To be called when another endpoint succeeded: ends the pursuit, but not before this endpoint has had one attempt. */
  supersede(): void
  /** The endpoint as it waits for its destination, while nothing else is under way for it. */
  held(): HeldEndpoint | undefined
}

/** Follows an endpoint after its first attempt.
 *  @param first  outcome of the endpoint's first attempt
 *  @param resumed  the endpoint as it waited in an earlier run of the workflow */
export function pursueEndpoint(
  context: PursuitContext,
  endpointId: string,
  first: AttemptOutcome,
  resumed?: HeldEndpoint,
): Pursuit {
  const { steering } = context
  const { destinationId } = context.target
  const scope = new CancellationScope()
  const result = new Trigger<EndpointResult>()
  const course = createCourse(context, endpointId, first, resumed, {
    onSettled(settled) {
      result.resolve(settled)
      scope.cancel()
    },
    onStopped() {
      isStopped = true
      scope.cancel()
    },
  })
  let worksUnderWay = 0
  let isStopped = false

  const inScope = (work: () => Promise<void>): void => {
    worksUnderWay++
    scope.run(work).then(
      () => worksUnderWay--,
      (error: unknown) => {
        if (!isStopped || !isCancellation(error)) result.reject(error)
      },
    )
  }

  const lookWhetherGone = async (): Promise<void> => {
    const { kind } = await course.readDestination()
    if (kind === 'discarded') await endNow(course, { end: 'discarded', reason: destinationGone })
  }
  const lookOnce = collapsed(lookWhetherGone)
  const onDestinationChanged = (): void => {
    if (!readsOnce()) inScope(lookWhetherGone)
    // While the endpoint is held, the hold reads the destination for all endpoints.
    else if (course.phase !== 'held') inScope(lookOnce)
  }

  const stopListening = [
    steering.onRetryNow(() => inScope(() => attemptNow(course))),
    steering.onDestinationChanged(destinationId, onDestinationChanged),
  ]
  inScope(() => followCourse(course, first))

  return {
    endpointId,
    result: result.then((settled) => {
      for (const stop of stopListening) stop()
      return settled
    }),
    supersede() {
      course.isSuperseded = true
      if (course.phase !== 'owedAttempt') inScope(() => endNow(course, { end: 'superseded' }))
    },
    held: () => (course.phase === 'held' && worksUnderWay === 1 ? heldEndpoint(course, endpointId) : undefined),
  }
}

function createCourse(
  context: PursuitContext,
  endpointId: string,
  first: AttemptOutcome,
  resumed: HeldEndpoint | undefined,
  { onSettled, onStopped }: { onSettled: (result: EndpointResult) => void; onStopped: () => void },
): Course {
  const { target, inTurn, clock, steering, noteWait, untilResumed, runs } = context
  const { destinationId } = target
  const input = { ...context.input, retry: retryAt(context.input.retry, target, endpointId) }
  let seenChanges = resumed === undefined ? 0 : undefined
  const onBegin = (): void => {
    seenChanges = steering.changes(destinationId)
  }
  const attempts = createEndpointAttempts(
    { input, inTurn, destinationId, clock, onBegin, runs },
    endpointId,
    first,
    resumed,
  )
  return {
    retry: input.retry,
    clock,
    attempts,
    pause: createPause(endpointId),
    phase: 'deciding',
    isSuperseded: false,
    reason: notAttempted,
    isKnownDown: false,
    noteWait,
    readDestination: () => readDestination(inTurn, destinationId),
    untilResumed: () => untilResumed(seenChanges),
    settle: (end) =>
      onSettled(endpointResult({ endpointId, attempts: attempts.count(), lastAttempt: attempts.last() }, end)),
    stop() {
      onStopped()
      return attempts.untilNoneRuns()
    },
  }
}

/** Ends the course whatever it is at. Attempts of the activities that wait in Temporal are counted first, and one that is being made
 *  is stopped and told before. */
async function endNow(course: Course, end: End): Promise<void> {
  const { phase, attempts } = course
  const mayRun =
    phase === 'retrying' ||
    (phase === 'owedAttempt' && patched('counts-first-attempts-in-turn')) ||
    (attempts.isUnderWay() && patched('settles-after-attempts-beside'))
  if (mayRun && (await attempts.countPending())) await course.stop()
  course.settle(end)
}

/** Ends the pause, or makes one attempt beside the activity that waits in Temporal: only its success or final failure changes the
 *  course. */
async function attemptNow(course: Course): Promise<void> {
  if (course.pause.end()) return course.attempts.order()
  const end = endBy(course, await course.attempts.beside())
  if (end !== undefined) await endNow(course, end)
}

function heldEndpoint({ attempts }: Course, endpointId: string): HeldEndpoint {
  const lastAttempt = attempts.last()
  return { endpointId, attempts: attempts.count(), ...(lastAttempt && { lastAttempt: withoutEvidence(lastAttempt) }) }
}
