/** The activities of `deliverEvent`: look up the settings as they are now, sign, send, say what came of it. */

import { randomUUID } from 'node:crypto'
import { Context } from '@temporalio/activity'
import { attemptKey, lastNumber, withinEvidenceBound } from '../src/contracts/attempts.ts'
import type {
  Attempt,
  AttemptInput,
  AttemptOutcome,
  AttemptRecord,
  DeliveryActivities,
  PendingAttempts,
  RetryInput,
  RetryOutcome,
} from '../src/contracts/delivery.ts'
import { failureTypes } from '../src/contracts/delivery.ts'
import { nextStep, notAttempted } from '../src/contracts/next-step.ts'
import type { AttemptKind, AttemptResult } from '../src/delivery/admission.ts'
import { evidenceOf, maxEvidenceBytes } from '../src/delivery/evidence.ts'
import { gatedEndpoint, type Gate } from '../src/delivery/gate.ts'
import { attemptResult, type SendOutcome } from '../src/delivery/outcome.ts'
import { messageRequest } from '../src/delivery/post-message.ts'
import type { Recovery, WhyWaiting } from '../src/delivery/recovery.ts'
import { CalledOffError, SendAbortedError, type Sender, type SendRequest } from '../src/delivery/send.ts'
import type { Standstills } from '../src/delivery/standstills.ts'
import type { UnlessMade } from '../src/delivery/unless-made.ts'
import type { Logger } from '../src/logger.ts'
import type { Tracing } from '../src/tracing/port.ts'
import {
  attemptsOf,
  deferred,
  logAttempt,
  observation,
  stopped,
  toAttemptOutcome,
  unreadable,
  type AttemptObservation,
} from './attempt-outcome.ts'
import { heartbeating } from './heartbeating.ts'
import {
  pausedSoFarMs,
  prepareAttempt,
  userDeleted,
  type PreparedAttempt,
  type PrepareDependencies,
} from './prepare-attempt.ts'
import { traceAttempt } from './trace-attempts.ts'
import { recordOfLastTry, thisTry, tryAgain, windowEndsAt } from './trying-on.ts'

/** Attempts kept in the record of one activity: a window of 4 hours has about 25 of them, and more where a destination has pauses of its own. */
const maxRecordedAttempts = 100

/** How long after a standstill a task may begin that was handed out before it, and of which Temporal waits for no report any more, in
 *  milliseconds. */
const staleTaskMs = 5_000

/** How long the report of an attempt may take to reach Temporal on a slow machine, in milliseconds. */
const reportMs = 3_000

/** Characters of an endpoint's URL that an attempt keeps. */
const maxUrlLength = 300

/** What it takes to make an attempt. */
export interface AttemptDependencies extends PrepareDependencies {
  sender: Sender
  /** Says whether an attempt may go now; one that may not is deferred. */
  gate: Pick<Gate, 'admit' | 'turnAway' | 'closedSince'>
  /** Keeps an attempt from being made again when only its report came too late. */
  unlessMade: UnlessMade
  /** Tells when this process stood still. */
  standstills: Pick<Standstills, 'since'>
  /** Keeps an attempt that Temporal may take no account of. */
  keepLate: (deliveryId: string, attempt: Attempt) => void
  /** Takes note of an attempt that has ended, and is not reported yet. */
  noteUnreported: (deliveryId: string, attempt: Attempt) => void
  /** Wakes tries that wait for an endpoint that was down. */
  recovery: Pick<Recovery, 'note' | 'forget'>
  /** Takes note of each attempt that was made. */
  observe: (observation: AttemptObservation) => void
  /** Undefined: off. */
  tracing: Tracing | undefined
  logger: Logger
}

export interface DeliveryDependencies extends AttemptDependencies {
  /** What waits or runs for each endpoint of a workflow. */
  pendingAttempts: (execution: {
    workflowId: string
    runId: string
  }) => Promise<(PendingAttempts & { endpointId: string })[]>
  /** Gives up a place in the line of a user. */
  leaveLine: (ticket: string) => Promise<void>
}

export function createDeliveryActivities(dependencies: DeliveryDependencies): DeliveryActivities {
  const { findDestination, recovery } = dependencies
  const waitsOn = (input: RetryInput, outcome: ToBeRetried, attempts: Attempt[], isOrdered?: boolean): Error => {
    const pauseMs = pauseAfter(input, outcome, attempts, isOrdered)
    recovery.note(input.endpointId, thisTry(), { ...whyWaiting(outcome), comesInMs: pauseMs })
    return again(outcome, attempts, pauseMs)
  }

  return {
    attemptDelivery: (input) => attempt(dependencies, 'first', input),

    async attemptInTurn(input) {
      recovery.forget(thisTry())
      const { isOrdered } = input
      const outcome = await heartbeating(() =>
        attempt(dependencies, 'retry', input, ofOneEvent('retry', input, input.attemptsBefore + 1, isOrdered)),
      )
      const isTold = outcome.kind === 'deferred' && outcome.isDown === true && input.tellsWhenDown === true
      if (outcome.kind === 'deferred' && !isTold) throw waitsOn(input, outcome, [], isOrdered)
      return { outcome, attempts: attemptsOf(outcome) }
    },

    async retryDelivery(input): Promise<RetryOutcome> {
      recovery.forget(thisTry())
      const record = recordOfLastTry<AttemptRecord>()
      const made = record?.attempts ?? []
      const isOrdered = input.isOrdered === true && made.length === 0
      const number = lastNumber(made, input.attemptsBefore) + 1
      const outcome = await heartbeating(
        () => attempt(dependencies, 'retry', input, { ...ofOneEvent('retry', input, number, isOrdered), told: made }),
        () => record,
      )
      const attempts = withinEvidenceBound(newest([...made, ...attemptsOf(outcome)], number))
      const isToGoOn = outcome.kind === 'deferred' || outcome.kind === 'unavailable'
      if (isToGoOn && !isCancelled()) throw waitsOn(input, outcome, attempts, isOrdered)
      return { outcome, attempts }
    },

    async readPendingAttempts(endpointId) {
      const { workflowExecution } = Context.current().info
      const all = workflowExecution === undefined ? [] : await dependencies.pendingAttempts(workflowExecution)
      const asked = all.filter((one) => endpointId === undefined || one.endpointId === endpointId)
      return {
        attempts: asked.flatMap(({ attempts }) => attempts),
        isUnderWay: asked.some(({ isUnderWay }) => isUnderWay === true),
      }
    },

    leaveLine: (ticket) => dependencies.leaveLine(ticket),

    async readDestination(destinationId) {
      await dependencies.catchUp()
      const destination = findDestination(destinationId)
      if (!destination?.enabled) return { kind: 'discarded', pausedTotalMs: destination?.pausedTotalMs ?? 0 }
      return { kind: destination.pausedAt === null ? 'active' : 'paused', pausedTotalMs: pausedSoFarMs(destination) }
    },
  }
}

/** Those that are kept of an endpoint's attempts; where older ones are left out, the last one tells how many there were.
 *  @param number  of the last one */
function newest(attempts: readonly Attempt[], number: number): Attempt[] {
  if (attempts.length <= maxRecordedAttempts) return [...attempts]
  return attempts
    .slice(-maxRecordedAttempts)
    .map((one, index, kept) => (index === kept.length - 1 ? { ...one, number } : one))
}

/** What an attempt is part of. */
export interface AttemptContext {
  /** Names the event among those of its workflow. */
  event: string
  /** Id of its delivery; that of the workflow unless given. */
  deliveryId?: string
  /** When it was accepted, in milliseconds since 1970. */
  acceptedAt: number
  /** Which attempt it is of this event at this endpoint, from 1. */
  number: number
  /** Attempts that earlier tries of its activity have told of; none unless given. */
  told?: readonly Attempt[]
  /** Stops the attempt. */
  signal?: AbortSignal
  /** Whether others of the same event at the same endpoint may begin at the same moment. */
  isBesideOthers?: boolean
  /** Whether an operator ordered it. */
  isOrdered?: boolean
  /** How many attempts wait with it, and come together where it is turned away; it alone unless given. */
  attempts?: number
  /** Called when the endpoint has a place for it. */
  onAdmitted?: () => void
  /** Most bytes of evidence that are kept of it; as many as of any unless given. */
  evidenceBytes?: number
}

const ofOneEvent = (
  kind: AttemptKind,
  { acceptedAt }: AttemptInput,
  number: number,
  isOrdered = false,
): AttemptContext => ({
  event: '',
  number,
  acceptedAt: acceptedAt === undefined ? Context.current().info.scheduledTimestampMs : Date.parse(acceptedAt),
  signal: Context.current().cancellationSignal,
  // An operator may have made several at once.
  isBesideOthers: kind === 'retry',
  isOrdered,
})

/** A run delivers an event to an endpoint once, so that their ids name it; what is ordered again has a run of its own. */
export async function attempt(
  dependencies: AttemptDependencies,
  kind: AttemptKind,
  input: AttemptInput,
  context: AttemptContext = ofOneEvent(kind, input, 1),
): Promise<AttemptOutcome> {
  const { workflowExecution, activityId } = Context.current().info
  const now = () => attemptNow(dependencies, kind, input, context)
  if (workflowExecution === undefined) return now()
  const { event, told = [], deliveryId = workflowExecution.workflowId } = context
  const isTold = (made: Attempt): boolean => told.some((one) => attemptKey(one) === attemptKey(made))
  const delivery = `${workflowExecution.runId}/${event}/${input.endpointId}`
  const begunAt = Date.now()
  const outcome = await dependencies.unlessMade({ delivery, activityId, isTold }, now)
  const { keepLate, noteUnreported, standstills } = dependencies
  const mayComeLate = isGivenUp() || isWindowAboutOver() || standstills.since(begunAt - staleTaskMs)
  const note = mayComeLate ? keepLate : noteUnreported
  for (const made of attemptsOf(outcome)) note(deliveryId, made)
  return outcome
}

async function attemptNow(
  dependencies: AttemptDependencies,
  kind: AttemptKind,
  input: AttemptInput,
  context: AttemptContext,
): Promise<AttemptOutcome> {
  const { gate } = dependencies
  const { isOrdered = false, attempts } = context
  const begunAt = Date.now()
  const prepared = await prepareAttempt(dependencies, input)
  if (prepared.kind !== 'ready') return prepared
  const { destination, endpoint } = prepared
  const admission = await gate.admit(gatedEndpoint(endpoint), kind, { isOrdered, ...(attempts && { attempts }) })
  if (admission.kind === 'later') {
    const isDown = gate.closedSince(endpoint.id) !== undefined
    return { ...deferred(admission), pausedTotalMs: pausedSoFarMs(destination), ...(isDown && { isDown }) }
  }
  context.onAdmitted?.()
  return makeAttempt(dependencies, { prepared, input, context, begunAt, leave: admission.leave })
}

/** An attempt that has its place at the endpoint. */
interface AdmittedAttempt {
  prepared: PreparedAttempt
  input: AttemptInput
  context: AttemptContext
  /** When it was asked for, in milliseconds since 1970. */
  begunAt: number
  /** Gives the place back. */
  leave: (result: AttemptResult) => void
}

async function makeAttempt(dependencies: AttemptDependencies, admitted: AdmittedAttempt): Promise<AttemptOutcome> {
  const { prepared, input, context, begunAt } = admitted
  const { destination, endpoint, sealJson, isCalledOff } = prepared
  const { event, number, signal, evidenceBytes = Infinity } = context
  const at = new Date()
  const traced = traceAttempt(dependencies.tracing, input, { event, endpoint, number, begunAt })
  let request: SendRequest | undefined
  let result: AttemptResult = 'unused'
  const told = (outcome: SendOutcome): AttemptOutcome => {
    const made = madeAttempt(endpoint, at, context)
    const evidence = request && sealJson(evidenceOf(request, outcome, Math.min(maxEvidenceBytes, evidenceBytes)))
    return toAttemptOutcome(outcome, { ...made, ...(evidence && { evidence }) }, pausedSoFarMs(destination))
  }
  try {
    request = requestOf(prepared, at, traced?.traceparent)
    const outcome = request
      ? await dependencies.sender.send({ ...request, isCalledOff }, signal)
      : unreadable(destination.unreadableReason ?? '')
    traced?.end(outcome)
    if (request) result = attemptResult(outcome)
    logAttempt(dependencies.logger, input, outcome, { attempt: number, runId })
    dependencies.observe(observation(input, outcome, context))
    return told(outcome)
  } catch (error) {
    if (error instanceof CalledOffError) return userDeleted
    if (!(error instanceof SendAbortedError)) throw error
    const why = stoppedBecause()
    if (why === undefined) throw error
    // It was not begun, and so not made.
    if (!error.isBegun) return { kind: 'deferred', pausedTotalMs: pausedSoFarMs(destination) }
    const outcome = stopped(at, why)
    traced?.end(outcome)
    dependencies.observe({ ...observation(input, outcome, context), isStopped: true })
    return told(outcome)
  } finally {
    admitted.leave(result)
  }
}

/** The request as it goes out; undefined where the secrets that it is signed with cannot be read. */
function requestOf(
  { destination, endpoint, messageId, body }: PreparedAttempt,
  at: Date,
  traceparent: string | undefined,
): SendRequest | undefined {
  // The reason is asked before the secrets, which throw where they cannot be read.
  if (destination.unreadableReason !== undefined) return undefined
  return messageRequest({ messageId, body, at, traceparent, endpoint, secrets: destination.secrets })
}

/** What names an attempt, and where it went. */
const madeAttempt = (
  { id, url }: PreparedAttempt['endpoint'],
  at: Date,
  { isBesideOthers = false }: AttemptContext,
): Omit<Attempt, 'durationMs'> => ({
  endpointId: id,
  url: url.slice(0, maxUrlLength),
  ...(isBesideOthers && { id: randomUUID().slice(0, 8) }),
  at: at.toISOString(),
})

const runId = (): string | undefined => Context.current().info.workflowExecution?.runId

/** Whether the delivery has ended for the activity, by an operator or by a success elsewhere. */
const isCancelled = (): boolean => Context.current().cancellationDetails?.cancelRequested === true

/** Undefined where the node stops, or shuts its connections: it has nobody left to tell. */
function stoppedBecause(): string | undefined {
  if (isCancelled()) return 'another endpoint took the event, or the delivery was ended'
  if (!isGivenUp()) return undefined
  return isWindowAboutOver()
    ? 'the time for retries was over'
    : 'its node stood still for so long that Temporal gave it up'
}

/** Whether Temporal may have ended the retries before it is told of this one. */
const isWindowAboutOver = (): boolean => !Context.current().info.isLocal && Date.now() > windowEndsAt() - reportMs

/** Whether Temporal waits for this try no more. */
function isGivenUp(): boolean {
  const { notFound = false, timedOut = false } = Context.current().cancellationDetails ?? {}
  return notFound || timedOut
}

/** What a bound of the endpoint keeps back waits no longer than for its turn. */
const whyWaiting = (outcome: AttemptOutcome): WhyWaiting =>
  outcome.kind === 'deferred' && outcome.isPaced !== true
    ? { isDown: outcome.isDown === true, turnInMs: outcome.turnInMs }
    : {}

type ToBeRetried = Extract<AttemptOutcome, { kind: 'deferred' | 'unavailable' }>

/** How long the activity waits for its next try, in milliseconds. */
function pauseAfter(
  { attemptsBefore, retry }: RetryInput,
  outcome: ToBeRetried,
  attempts: readonly Attempt[],
  isOrdered = false,
): number {
  const { attempt: tries } = Context.current().info
  const state = {
    // A pause after a failure is none the longer for tries that were turned away before.
    attempts: attemptsBefore + (outcome.kind === 'unavailable' ? Math.min(tries, attempts.length) : tries),
    retry,
    windowEndsAt: windowEndsAt(),
    // What an operator ordered comes as soon as there is a place for it.
    pausesInVain: !isOrdered,
  }
  const now = Date.now()
  const step = nextStep(state, outcome, { now, random: Math.random })
  return step.kind === 'wait' ? step.until - now : 0
}

/** The failure after which Temporal tries again: the endpoint failed in a way that may pass, or the gate let no attempt through. */
function again(outcome: ToBeRetried, attempts: Attempt[], pauseMs: number): Error {
  const [type, reason = 'the endpoint is unavailable'] =
    outcome.kind === 'deferred'
      ? [failureTypes.endpointSaturated, outcome.reason ?? notAttempted]
      : [failureTypes.endpointUnavailable, outcome.attempt.error]
  return tryAgain(type, reason, { attempts, pauseMs } satisfies AttemptRecord, pauseMs)
}
