/** The activities of `deliverEvent`: look up the settings as they are now, sign, send, say what came of it. */

import { randomUUID } from 'node:crypto'
import { Context } from '@temporalio/activity'
import { attemptKey, withinEvidenceBound } from '../src/contracts/attempts.ts'
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
import { namedUsers } from '../src/contracts/named-users.ts'
import { isSealedMessage, type MessageContent, type OpenMessage } from '../src/contracts/sealed-message.ts'
import { nextStep, notAttempted } from '../src/contracts/next-step.ts'
import type { AttemptKind, AttemptResult, TurnedAway } from '../src/delivery/admission.ts'
import { encodeBody } from '../src/delivery/body.ts'
import { evidenceOf, maxEvidenceBytes } from '../src/delivery/evidence.ts'
import { gatedEndpoint, type Gate } from '../src/delivery/gate.ts'
import { attemptResult, type SendOutcome } from '../src/delivery/outcome.ts'
import { messageRequest } from '../src/delivery/post-message.ts'
import type { Recovery, WhyWaiting } from '../src/delivery/recovery.ts'
import { CalledOffError, SendAbortedError, type Sender, type SendRequest } from '../src/delivery/send.ts'
import type { Standstills } from '../src/delivery/standstills.ts'
import type { UnlessMade } from '../src/delivery/unless-made.ts'
import type { StoredDestination } from '../src/db/stored-destination.ts'
import type { Suppression } from '../src/deletions/suppression.ts'
import { traceIdOf } from '../src/contracts/traceparent.ts'
import type { Logger } from '../src/logger.ts'
import type { Mapper } from '../src/mapping/mapper.ts'
import type { Tracing } from '../src/tracing/port.ts'
import { heartbeating } from './heartbeating.ts'
import { traceAttempt } from './trace-attempts.ts'
import { recordOfLastTry, thisTry, tryAgain, windowEndsAt } from './trying-on.ts'

/** Attempts kept in the record of one activity: a window of 4 hours has about 25. */
const maxRecordedAttempts = 100

/** How long after a standstill a task may begin that was handed out before it, and of which Temporal waits for no report any more, in
 *  milliseconds. */
const staleTaskMs = 5_000

/** Characters of an endpoint's URL that an attempt keeps. */
const maxUrlLength = 300

/** What it takes to make an attempt. */
export interface AttemptDependencies {
  findDestination: (id: string) => StoredDestination | undefined
  /** Reads what other nodes changed in the settings. */
  catchUp: () => Promise<void>
  /** Applies the mapping that a delivery names. */
  mapper: Mapper
  sender: Sender
  /** Opens a message; answers undefined when its user was erased. @throws while the key cannot be read */
  openMessage: (sealed: string) => Promise<OpenMessage | undefined>
  /** Users to whom nothing goes out any more. */
  suppression: Pick<Suppression, 'isSuppressed' | 'upToDate'>
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

/** One attempt at an endpoint, of which figures are made. */
export interface AttemptObservation {
  destinationId: string
  endpointId: string
  /** When the attempt ended. */
  at: Date
  /** From the moment when the event was accepted to the end of this attempt, in milliseconds. */
  latencyMs: number
  /** The time of the attempt alone, in milliseconds. */
  durationMs: number
  outcome: SendOutcome['kind']
  /** From the moment when the event was accepted to the beginning of this attempt, in milliseconds; absent unless it was the first one
   *  at its endpoint. */
  waitedMs?: number
  /** Why it failed; absent on success. */
  failure?: string
  /** Ended from this side, before there was an answer: it counts, and tells nothing of the endpoint. */
  isStopped?: true
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
      const number = input.attemptsBefore + made.length + 1
      const outcome = await heartbeating(
        () => attempt(dependencies, 'retry', input, { ...ofOneEvent('retry', input, number, isOrdered), told: made }),
        () => record,
      )
      const attempts = withinEvidenceBound([...made, ...attemptsOf(outcome)].slice(-maxRecordedAttempts))
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
  const note = isGivenUp() || standstills.since(begunAt - staleTaskMs) ? keepLate : noteUnreported
  for (const made of attemptsOf(outcome)) note(deliveryId, made)
  return outcome
}

async function attemptNow(
  dependencies: AttemptDependencies,
  kind: AttemptKind,
  input: AttemptInput,
  context: AttemptContext,
): Promise<AttemptOutcome> {
  const { signal, number, isBesideOthers = false, isOrdered = false, attempts } = context
  const begunAt = Date.now()
  const found = await findEndpoint(dependencies, input)
  if (found.kind !== 'ready') return found
  const { destination, endpoint } = found
  const { gate, suppression } = dependencies
  const opened = await contentOf(dependencies, input)
  if (opened === undefined) return userDeleted
  const { content } = opened
  // `upToDate` is awaited only where there is something to wait for.
  const look = suppression.upToDate()
  if (look !== undefined) await look
  const isCalledOff = (): boolean => isOfSuppressed(suppression, input.sourceId, content)
  if (isCalledOff()) return userDeleted
  // As `upToDate`: most have no mapping.
  const mapping = bodyOf(dependencies.mapper, input, content, destination)
  const body = typeof mapping === 'string' ? mapping : await mapping
  if (typeof body !== 'string') return body
  const admission = await gate.admit(gatedEndpoint(endpoint), kind, { isOrdered, ...(attempts && { attempts }) })
  if (admission.kind === 'later') {
    const isDown = gate.closedSince(endpoint.id) !== undefined
    return { ...deferred(admission), pausedTotalMs: pausedSoFarMs(destination), ...(isDown && { isDown }) }
  }
  context.onAdmitted?.()
  let result: AttemptResult = 'unused'
  const at = new Date()
  const made = {
    endpointId: endpoint.id,
    url: endpoint.url.slice(0, maxUrlLength),
    ...(isBesideOthers && { id: randomUUID().slice(0, 8) }),
    at: at.toISOString(),
  }
  const traced = traceAttempt(dependencies.tracing, input, { event: context.event, endpoint, number, begunAt })
  let request: SendRequest | undefined
  const told = (outcome: SendOutcome): AttemptOutcome => {
    const evidence =
      request &&
      opened.sealJson(evidenceOf(request, outcome, Math.min(maxEvidenceBytes, context.evidenceBytes ?? Infinity)))
    return toAttemptOutcome(outcome, { ...made, ...(evidence && { evidence }) }, pausedSoFarMs(destination))
  }
  try {
    const { messageId } = content
    // The reason is asked before the secrets, which throw where they cannot be read.
    const { unreadableReason } = destination
    if (unreadableReason === undefined)
      request = messageRequest({
        messageId,
        body,
        at,
        traceparent: traced?.traceparent,
        endpoint,
        secrets: destination.secrets,
      })
    const outcome = request
      ? await dependencies.sender.send({ ...request, isCalledOff }, signal)
      : unreadable(unreadableReason ?? '')
    traced?.end(outcome)
    if (request) result = attemptResult(outcome)
    log(dependencies.logger, input, outcome, context)
    dependencies.observe(observation(input, outcome, context))
    return told(outcome)
  } catch (error) {
    if (error instanceof CalledOffError) return userDeleted
    const why = error instanceof SendAbortedError ? stoppedBecause() : undefined
    if (why === undefined) throw error
    const outcome = stopped(at, why)
    traced?.end(outcome)
    dependencies.observe({ ...observation(input, outcome, context), isStopped: true })
    return told(outcome)
  } finally {
    admission.leave(result)
  }
}

/** The outcome of an attempt that the gate turned away. */
export const deferred = ({ inMs, reason, isPaced }: TurnedAway): Extract<AttemptOutcome, { kind: 'deferred' }> => ({
  kind: 'deferred',
  turnInMs: inMs,
  reason,
  ...(isPaced && { isPaced }),
})

/** What is sent; undefined when its user was erased. */
function contentOf(
  { openMessage }: Pick<AttemptDependencies, 'openMessage'>,
  { messageId, message }: AttemptInput,
): OpenMessage | undefined | Promise<OpenMessage | undefined> {
  return isSealedMessage(message)
    ? openMessage(message.sealed)
    : { content: { messageId, message }, sealJson: (json) => json }
}

/** The bytes that the endpoint gets, the same in every attempt, or what comes of an attempt for which there are none. */
function bodyOf(
  mapper: Mapper,
  { destinationId, mappingId }: AttemptInput,
  { message }: MessageContent,
  destination: StoredDestination,
): string | Promise<string | AttemptOutcome> {
  if (mappingId === undefined) return encodeBody(message)
  return mapper.map({ destinationId, mappingId }, message).then(
    (mapped) => (mapped.kind === 'mapped' ? mapped.body : { kind: 'rejected', reason: mapped.reason }),
    (error: unknown) => ({
      kind: 'deferred',
      reason: `not attempted: its mapping cannot be read now (${error instanceof Error ? error.message : String(error)})`,
      pausedTotalMs: pausedSoFarMs(destination),
    }),
  )
}

const userDeleted: AttemptOutcome = { kind: 'discarded', reason: 'the user was deleted' }

const isOfSuppressed = (
  { isSuppressed }: Pick<Suppression, 'isSuppressed'>,
  sourceId: string | undefined,
  { message }: MessageContent,
): boolean => namedUsers(message).some((userId) => isSuppressed(sourceId, userId))

/** The outcome where stored secrets cannot be read: it may pass, since the operator may give back the key that is missing. */
const unreadable = (reason: string): SendOutcome => ({
  kind: 'unavailable',
  code: 'invalid_request',
  reason,
  durationMs: 0,
})

/** Whether the delivery has ended for the activity, by an operator or by a success elsewhere. */
const isCancelled = (): boolean => Context.current().cancellationDetails?.cancelRequested === true

/** Undefined where the node stops, or shuts its connections: it has nobody left to tell. */
function stoppedBecause(): string | undefined {
  if (isCancelled()) return 'the delivery was ended'
  return isGivenUp() ? 'its node stood still for so long that Temporal gave it up' : undefined
}

/** Whether Temporal waits for this try no more. */
function isGivenUp(): boolean {
  const { notFound = false, timedOut = false } = Context.current().cancellationDetails ?? {}
  return notFound || timedOut
}

/** The request went out, or was about to. */
const stopped = (at: Date, why: string): SendOutcome => ({
  kind: 'unavailable',
  code: 'network_failure',
  reason: `the attempt was stopped in the middle: ${why}`,
  durationMs: Date.now() - at.getTime(),
})

interface Ready {
  kind: 'ready'
  destination: StoredDestination
  endpoint: StoredDestination['settings']['webhooks'][number]
}

/** The endpoint as it is now, or why no attempt is made. Settings in memory may be a second old: another node may have
 *  accepted the event for a destination that this one does not know yet. */
async function findEndpoint(
  { findDestination, catchUp }: AttemptDependencies,
  input: AttemptInput,
): Promise<Ready | AttemptOutcome> {
  const found = judge(findDestination(input.destinationId), input.endpointId)
  if (found.kind === 'ready') return found
  await catchUp()
  return judge(findDestination(input.destinationId), input.endpointId)
}

function judge(destination: StoredDestination | undefined, endpointId: string): Ready | AttemptOutcome {
  if (destination === undefined) return { kind: 'discarded', reason: 'the destination was deleted' }
  if (!destination.enabled) return { kind: 'discarded', reason: 'the destination was switched off' }
  if (destination.pausedAt !== null) return { kind: 'held' }
  const endpoint = destination.settings.webhooks.find(({ id }) => id === endpointId)
  if (endpoint === undefined) return { kind: 'rejected', reason: 'the endpoint was removed from its destination' }
  return { kind: 'ready', destination, endpoint }
}

function toAttemptOutcome(
  outcome: SendOutcome,
  made: Omit<Attempt, 'durationMs'>,
  pausedTotalMs: number,
): AttemptOutcome {
  const attempt: Attempt = {
    ...made,
    durationMs: Math.round(outcome.durationMs),
    ...(outcome.status !== undefined && { status: outcome.status }),
    ...(outcome.kind !== 'delivered' && { error: outcome.reason }),
  }
  switch (outcome.kind) {
    case 'delivered':
      return { kind: 'delivered', attempt }
    case 'rejected':
      return { kind: 'rejected', reason: outcome.reason, attempt }
    case 'unavailable': {
      const { retryAfterMs } = outcome
      return { kind: 'unavailable', attempt, pausedTotalMs, ...(retryAfterMs !== undefined && { retryAfterMs }) }
    }
  }
}

function observation(
  { destinationId, endpointId }: AttemptInput,
  outcome: SendOutcome,
  { acceptedAt, number }: AttemptContext,
): AttemptObservation {
  const at = new Date()
  const { durationMs } = outcome
  // The clock of the node that took the event may be ahead of this one's.
  const latencyMs = Math.max(durationMs, at.getTime() - acceptedAt)
  return {
    destinationId,
    endpointId,
    at,
    latencyMs,
    durationMs,
    outcome: outcome.kind,
    ...(number === 1 && { waitedMs: latencyMs - durationMs }),
    ...(outcome.kind !== 'delivered' && { failure: outcome.reason }),
  }
}

/** Logs one line per attempt; a receiver's failure is no error of this node. */
function log(
  logger: Logger,
  { sourceId, destinationId, endpointId, traceparent }: AttemptInput,
  outcome: SendOutcome,
  { number: attempt }: AttemptContext,
): void {
  const { kind, status } = outcome
  const level = kind === 'delivered' ? 'debug' : outcome.code === 'timeout' ? 'warn' : 'info'
  if (!logger.isLevelEnabled(level)) return
  const { runId } = Context.current().info.workflowExecution ?? {}
  const traceId = traceparent && traceIdOf(traceparent)
  const facts = { sourceId, destinationId, endpointId, attempt, runId, traceId, outcome: kind, status }
  const durationMs = Math.round(outcome.durationMs)
  if (kind === 'delivered') return logger[level]({ ...facts, durationMs }, 'delivery.attempted')
  const { code, reason } = outcome
  // The reason of an answer may repeat some of it.
  logger[level]({ ...facts, durationMs, code, ...(status === undefined && { reason }) }, 'delivery.attempted')
}

function pausedSoFarMs({ pausedTotalMs, pausedAt }: StoredDestination): number {
  return pausedTotalMs + (pausedAt === null ? 0 : Date.now() - pausedAt.getTime())
}

const attemptsOf = (outcome: AttemptOutcome): Attempt[] =>
  'attempt' in outcome && outcome.attempt !== undefined ? [outcome.attempt] : []

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
