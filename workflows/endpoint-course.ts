/** The course of one endpoint after its first attempt did not settle it: step by step, until it is settled. */

import { patched } from '@temporalio/workflow'
import type { AttemptOutcome, DestinationState, RetrySchedule } from '../src/contracts/delivery.ts'
import {
  nextStep,
  withinWindow,
  type EndpointOutcome,
  type EndpointState,
  type NextStep,
  type Settled,
  type Wait,
} from '../src/contracts/next-step.ts'
import { obeyedRetryAfterMs } from '../src/contracts/retry-delay.ts'
import type { EndpointAttempts, Pause } from './endpoint-attempts.ts'
import type { RetryClock } from './retry-clock.ts'

/** What the endpoint is at. `owedAttempt`: it waits for the attempt that no success elsewhere takes from it; `retrying`: an
 *  activity waits in Temporal, or runs. */
export type Phase = 'deciding' | 'owedAttempt' | 'pausing' | 'retrying' | 'held'

export type End = Pick<Settled, 'end' | 'reason'>

export interface Course {
  readonly retry: RetrySchedule
  readonly clock: RetryClock
  readonly attempts: EndpointAttempts
  readonly pause: Pause
  phase: Phase
  /** Whether another endpoint took the event, and one is enough. */
  isSuperseded: boolean
  /** Why the endpoint waits. */
  reason: string
  /** Whether the last outcome told that the endpoint is down. */
  isKnownDown: boolean
  /** Takes note of a wait after an attempt that failed, or that was not made because the endpoint is down. */
  noteWait: (wait: Wait) => void
  readDestination: () => Promise<DestinationState>
  untilResumed: () => Promise<DestinationState>
  settle: (end: End) => void
  /** Cancels what is under way, and waits until that has told its end. */
  stop: () => Promise<void>
}

/** Goes on from the outcome of the first attempt until the endpoint is settled. */
export async function followCourse(course: Course, first: AttemptOutcome): Promise<void> {
  let outcome: EndpointOutcome = first
  for (;;) {
    if (outcome.kind === 'exhausted') {
      if (isOwedAttempt(course, outcome)) course.phase = 'owedAttempt'
      else outcome = { ...outcome, wasTurnedAway: true }
      // A pause of the destination meanwhile has given time back.
      if (course.phase === 'owedAttempt' || !course.isSuperseded)
        course.clock.notePause((await course.readDestination()).pausedTotalMs)
    }
    const pausedTotalMs = pausedTotalOf(outcome)
    if (pausedTotalMs !== undefined) course.clock.notePause(pausedTotalMs)
    const step = inTime(course, nextStep(stateOf(course, isObeyedInFull(course, outcome)), outcome, moment()))
    if (step.kind === 'settle') return settleAfterOthers(course, step)
    outcome = await take(course, step)
  }
}

/** Settles the course, but not before an attempt that an operator ordered beside it has told what came of it: it was made, too, and where
 *  it succeeded, the endpoint has the event. */
async function settleAfterOthers(course: Course, end: End): Promise<void> {
  const { attempts } = course
  if (!attempts.isUnderWay() || !patched('settles-after-attempts-beside')) return course.settle(end)
  await course.stop()
  course.settle(attempts.isTaken() ? { end: 'delivered' } : end)
}

/** How an attempt that was made beside the course ends it; undefined when the course goes on. */
export function endBy(course: Course, outcome: EndpointOutcome): End | undefined {
  const step = nextStep({ ...stateOf(course), isSuperseded: false }, outcome, moment())
  return step.kind === 'settle' ? step : undefined
}

const moment = () => ({ now: Date.now(), random: Math.random })

const stateOf = ({ attempts, retry, clock, isSuperseded, reason }: Course, obeysInFull = false): EndpointState => ({
  attempts: attempts.count(),
  retry,
  windowEndsAt: clock.endsAt(retry.windowMs),
  isSuperseded,
  reason,
  obeysInFull,
})

/** The step as far as the window has room for it; an endpoint that was never attempted is not late, since its window begins with the
 *  attempt. */
const inTime = ({ clock, retry }: Course, step: NextStep): NextStep =>
  step.kind === 'wait' && step.for === 'retry'
    ? withinWindow(step, { windowEndsAt: clock.endsAt(retry.windowMs) })
    : step

function take(course: Course, step: Exclude<NextStep, Settled>): Promise<EndpointOutcome> {
  switch (step.kind) {
    case 'hold':
      return holdOn(course)
    case 'wait':
      course.reason = step.reason
      course.isKnownDown ||= step.isDown === true
      // A wait for a turn is not noted: that would cost Temporal as much as an attempt.
      if (step.for === 'retry' || step.isDown) course.noteWait(step)
      return step.for === 'turn' ? attemptInTurn(course, step.until) : retryAt(course, step.until)
    case 'attempt':
      if (step.beginsWindow) course.clock.start()
      // The first attempt after a hold is an activity of its own, too: a signal that meets the end of a workflow task makes
      // Temporal repeat the task, and a local attempt in it with it.
      return course.attempts.count() === 0 ? attemptInTurn(course) : retryOn(course)
  }
}

async function retryOn(course: Course): Promise<EndpointOutcome> {
  course.phase = 'retrying'
  const outcome = await course.attempts.retries()
  course.phase = 'deciding'
  return outcome
}

/** Tries on from a moment on. A timer is the pause before it, since an activity would run at once; `retryNow` ends the pause early. */
async function retryAt(course: Course, at: number): Promise<EndpointOutcome> {
  course.phase = 'pausing'
  await course.pause.wait(at - Date.now())
  return retryOn(course)
}

/** Makes one attempt when the endpoint's turn comes.
 *  @param at  when a turn may be free: until then a timer waits, which costs Temporal less than an activity that finds none */
async function attemptInTurn(course: Course, at?: number): Promise<EndpointOutcome> {
  course.phase = 'owedAttempt'
  if (at !== undefined) await course.pause.wait(at - Date.now())
  const outcome = await course.attempts.inTurn(!course.isKnownDown)
  course.phase = 'deciding'
  return outcome
}

async function holdOn(course: Course): Promise<EndpointOutcome> {
  course.phase = 'held'
  const state = await course.untilResumed()
  course.phase = 'deciding'
  return { kind: 'resumed', state }
}

/** How long the destination was paused in all, where the outcome tells it. */
function pausedTotalOf(outcome: EndpointOutcome): number | undefined {
  if (outcome.kind === 'resumed') return outcome.state.pausedTotalMs
  return outcome.kind === 'deferred' || outcome.kind === 'unavailable' ? outcome.pausedTotalMs : undefined
}

/** Whether an endpoint that nobody was there for in the whole window still gets its first attempt; not in deliveries that began
 *  before this was so. */
const isOwedAttempt = (
  { attempts }: Course,
  { wasTurnedAway }: Extract<EndpointOutcome, { kind: 'exhausted' }>,
): boolean => attempts.count() === 0 && !wasTurnedAway && patched('window-begins-with-the-first-attempt')

/** Deliveries that began before a `Retry-After` was obeyed in part obey it in full. */
function isObeyedInFull({ clock, retry, isSuperseded }: Course, outcome: EndpointOutcome): boolean {
  if (isSuperseded || outcome.kind !== 'unavailable' || outcome.retryAfterMs === undefined) return false
  if (obeyedRetryAfterMs(outcome.retryAfterMs, clock.remainingMs(retry.windowMs)) === outcome.retryAfterMs) return false
  return !patched('retry-after-obeyed-in-part')
}
