/** The activity that sends the changes of a sync: a page at a time, many calls side by side, by the road of events. */

import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity'
import { changeMessageId, identifyBody, type Change, type IdentifyContext } from '../src/audiences/identify.ts'
import type { LiveTraffic } from '../src/audiences/live-traffic.ts'
import type { AudienceMetrics } from '../src/audiences/metrics.ts'
import { createPace, postSideBySide, type Posted, type PostedChanges } from '../src/audiences/post-side-by-side.ts'
import {
  audienceFailures,
  changeWorkflowId,
  type SendInput,
  type SendResult,
  type SyncDescription,
} from '../src/contracts/audience-sync.ts'
import type { DeliverEventInput, DeliveryTarget, RetrySchedule } from '../src/contracts/delivery.ts'
import { retryDelayMs } from '../src/contracts/retry-delay.ts'
import { longestOf, ownRetry, retryAt } from '../src/contracts/retry-window.ts'
import { nextChanges, openChanges, recordOutcomes } from '../src/db/audiences-changes.ts'
import type { Database } from '../src/db/database.ts'
import { bookCalls } from '../src/db/destination-paces.ts'
import type { StoredDestination } from '../src/db/stored-destination.ts'
import { encodeBody } from '../src/delivery/body.ts'
import type { Gate } from '../src/delivery/gate.ts'
import { postMessage } from '../src/delivery/post-message.ts'
import { CalledOffError, SendAbortedError, type Sender, type SendOutcome } from '../src/delivery/send.ts'
import type { Suppression } from '../src/deletions/suppression.ts'
import type { Mapper } from '../src/mapping/mapper.ts'
import type { SyncCursors } from '../src/temporal/sync-cursors.ts'
import type { EndpointObservation } from './attempt-outcome.ts'
import { heartbeating } from './heartbeating.ts'
import { sendWithinBounds } from './within-bounds.ts'

/** Calls in flight to one destination: enough to keep it busy, and connections are left for live events. */
export const concurrency = 64

/** Most changes that are read and recorded together: up to two pages may be sent twice when a node is killed. */
const pageSize = 1_500

/** How long the calls of a page take, about, in milliseconds: a page's size follows from it. What was sent is counted when its page
 *  is recorded. */
const pageMs = 1_000

/** How long calls are booked ahead where their rate is bounded, in seconds: other syncs to the destination come after. */
const bookedSeconds = 0.5

/** How long one activity goes on before its progress becomes part of the workflow's history, in milliseconds. */
const stretchMs = 10_000

/** Calls in a row that find the endpoint unavailable before it counts as down and gets a pause. */
const maxUnavailableInRow = 50

/** How many deliveries are started side by side. */
const startConcurrency = 8

export interface SendingDependencies {
  database: Database
  findDestination: (id: string) => StoredDestination | undefined
  /** Applies the mapping of a destination. */
  mapper: Mapper
  sender: Sender
  /** Asked where bounds are set for an endpoint: they hold for events and calls of syncs together. */
  gate: Pick<Gate, 'admit' | 'closedSince'>
  suppression: Pick<Suppression, 'isSuppressed' | 'upToDate' | 'forgets'>
  /** Told what each endpoint did. */
  observe: (observation: EndpointObservation) => void
  metrics: AudienceMetrics
  liveTraffic: Pick<LiveTraffic, 'callsPerSecond'>
  /** Where the sending stands, as Temporal has it. */
  cursors: SyncCursors
  /** Starts a delivery for one change; a second start under the same id does nothing. */
  startDelivery: (input: DeliverEventInput, workflowId: string) => Promise<unknown>
}

/** Changes as they were read. */
interface ChangesPage {
  /** How often users had been taken off the audiences before these changes were read. */
  forgets: string
  /** Id of the user before the first one. */
  after: string
  changes: Change[]
}

/** Changes that are told stay told: a sync that cannot keep how far it is looks through them once more. */
export async function sendChanges(dependencies: SendingDependencies, input: SendInput): Promise<SendResult> {
  const { cursors } = dependencies
  const after = await cursors.open(input.after)
  const result = await sendFrom(dependencies, { ...input, after })
  if (result.after === after) return { ...result, after: input.after }
  return { ...result, after: (await cursors.seal(input.sync.audience.id, result.after)) ?? input.after }
}

/** Sends for some seconds. A call that failed in a way that may pass gets a delivery of its own.
 *  @throws ApplicationFailure EndpointDown, to be retried, when nothing gets through; all that was sent is recorded
 *  @throws CancelledFailure when it is stopped, after the same */
async function sendFrom(dependencies: SendingDependencies, input: SendInput): Promise<SendResult> {
  const { database, suppression } = dependencies
  const { sync, link } = input
  const { info, cancellationSignal } = Context.current()
  const identify: IdentifyContext = { audience: sync.audience, syncId: sync.syncId, timestamp: sync.startedAt }
  const destination = (): StoredDestination | undefined => dependencies.findDestination(link.destinationId)
  const { maxPerSecond } = sync.audience
  const longestPage = maxPerSecond === null ? pageSize : Math.min(pageSize, Math.ceil(maxPerSecond * bookedSeconds))
  let pageOf = Math.min(longestPage, 2 * concurrency)
  let endsAt = performance.now() + stretchMs
  let pace = createPace(dependencies.liveTraffic.callsPerSecond)
  const book = async (calls: number): Promise<void> => {
    if (maxPerSecond === null || calls === 0) return
    const waitMs = await bookCalls(database, link.destinationId, calls, maxPerSecond)
    // The wait for other syncs does not count against this one's time: however many there are, each gets its turns.
    endsAt += waitMs
    pace = createPace(
      () => Math.min(maxPerSecond, dependencies.liveTraffic.callsPerSecond()),
      performance.now() + waitMs,
    )
  }
  /** Whether a page may still be sent: not when users were taken off the audiences since it was read, or this node would not know. */
  const isValid = ({ forgets }: ChangesPage): boolean =>
    forgets === suppression.forgets() && suppression.upToDate() === undefined
  const goesOn = (page: ChangesPage): boolean =>
    !cancellationSignal.aborted &&
    performance.now() < endsAt &&
    obstacleOf(destination()) === undefined &&
    isValid(page)
  // After a failure one call alone finds out whether the endpoint is back.
  let probes = info.attempt > 1
  let result: Omit<SendResult, 'kind'> = { after: input.after }
  // One page is recorded while the next one is posted.
  let recording: Promise<Partial<SendResult>> = Promise.resolve({})
  const recorded = async (): Promise<void> => {
    result = { ...result, ...(await recording) }
  }

  const readPage = async (after: string, limit: number): Promise<ChangesPage> => {
    await suppression.upToDate()
    const forgets = suppression.forgets()
    return { forgets, after, changes: await nextChanges(database, sync.number, link, after, limit) }
  }
  /** Reads the next page while this one is sent. A failure counts only when the page is awaited: the round before may fail first. */
  const readAhead = (after: string, limit: number): Promise<ChangesPage> => {
    const page = readPage(after, limit)
    page.catch(() => undefined)
    return page
  }

  return heartbeating(async () => {
    let upcoming = readAhead(result.after, probes ? 1 : pageOf)
    for (;;) {
      const page = await upcoming
      const { after, changes } = page
      const last = changes.at(-1)
      if (last !== undefined) upcoming = readAhead(last.userId, pageOf)
      await book(changes.length)
      const postedFrom = performance.now()
      const posted = await postSideBySide(
        changes,
        (change) => postChange(dependencies, destination(), identify, change, () => goesOn(page)),
        { concurrency, maxUnavailableInRow: probes ? 1 : maxUnavailableInRow, pace, goesOn: () => goesOn(page) },
      )
      pageOf = nextPage(changes.length, performance.now() - postedFrom, longestPage)
      await recorded()
      recording = record(dependencies, input, identify, after, posted)
      recording.catch(() => undefined) // Awaited in the next round.

      const settings = destination()
      const obstacle = obstacleOf(settings)
      const isWhole = allMade(posted, changes)
      const endsHere =
        cancellationSignal.aborted || posted.isDown || obstacle !== undefined || !isWhole || performance.now() >= endsAt
      if (endsHere || last === undefined) await recorded()
      if (cancellationSignal.aborted) throw new CancelledFailure('the sync was stopped')
      if (posted.isDown) throw endpointDown(sync, destination())
      if (last === undefined) return { kind: 'done', ...result }
      if (obstacle === 'skipped') return { kind: obstacle, ...passedOver(settings), ...result }
      if (obstacle !== undefined) return { kind: obstacle, ...result }
      if (endsHere) return { kind: 'more', ...result }
      probes = false
    }
  })
}

/** How many changes the page after a page of `changes` has, whose calls took `tookMs`: no fewer than keep all calls busy. */
const nextPage = (changes: number, tookMs: number, longest: number): number =>
  Math.min(longest, Math.max(2 * concurrency, Math.ceil((changes * pageMs) / Math.max(1, tookMs))))

const obstacleOf = (destination: StoredDestination | undefined): 'skipped' | 'held' | undefined => {
  if (!destination?.enabled) return 'skipped'
  return destination.pausedAt === null ? undefined : 'held'
}

/** Why a sync is over although something is left; nothing is left to tell one that was deleted. */
const passedOver = (destination: StoredDestination | undefined): Pick<SendResult, 'passedOver'> =>
  destination === undefined
    ? {}
    : {
        passedOver: `${destination.name} is switched off: what it was not told comes with the next sync after it is switched on.`,
      }

/** Tells a destination one change, as its mapping makes it. `then` rather than `await`: with async hooks, as activities have them, each
 *  promise costs dearly. */
function postChange(
  dependencies: SendingDependencies,
  destination: StoredDestination | undefined,
  identify: IdentifyContext,
  change: Change,
  goesOn: () => boolean,
): Promise<Posted> {
  if (destination === undefined) return Promise.resolve({ kind: 'unmade' })
  const message = identifyBody(identify, change)
  const { id: destinationId, mappingId } = destination
  const post = (body: string): Promise<Posted> =>
    postBody(dependencies, destination, identify, { userId: change.userId, messageId: message.messageId, body, goesOn })
  if (mappingId === null) return post(encodeBody(message))
  return dependencies.mapper.map({ destinationId, mappingId }, message).then(
    (mapped) => (mapped.kind === 'mapped' ? post(mapped.body) : { ...mapped, isUnasked: true }),
    () => ({ kind: 'unmade' }),
  )
}

/** Posts to all endpoints of a destination, side by side. */
function postBody(
  { sender, gate, suppression, observe }: SendingDependencies,
  { id: destinationId, secrets, successPolicy, mappingId, settings: { webhooks: endpoints } }: StoredDestination,
  { audience }: IdentifyContext,
  { userId, messageId, body, goesOn }: { userId: string; messageId: string; body: string; goesOn: () => boolean },
): Promise<Posted> {
  const isCalledOff = (): boolean => suppression.isSuppressed(audience.id, userId)
  if (isCalledOff()) return Promise.resolve({ kind: 'withheld' })
  const attempts = endpoints.map((endpoint) =>
    sendWithinBounds({
      gate,
      endpoint,
      goesOn,
      send: () => postMessage(sender, { messageId, body, endpoint, secrets, at: new Date(), isCalledOff }),
    }),
  )
  const judge = (outcomes: SendOutcome[]): Posted => {
    for (const [index, { id }] of endpoints.entries())
      tellOf({ destinationId, endpointId: id }, outcomes[index], observe)
    const posted = verdict(outcomes, endpoints, successPolicy)
    return posted.kind === 'unavailable' && mappingId !== null ? { ...posted, mappingId } : posted
  }
  const stopped = (error: unknown): Posted => {
    if (error instanceof SendAbortedError) return { kind: 'unmade' }
    if (error instanceof CalledOffError) return { kind: 'withheld' }
    throw error
  }
  // Mostly there is one endpoint, and `Promise.all` costs some promises.
  const [only] = attempts
  if (only !== undefined && attempts.length === 1) return only.then((outcome) => judge([outcome]), stopped)
  return Promise.all(attempts).then(judge, stopped)
}

/** Tells what an endpoint did; one that bounds kept a call from did nothing. */
function tellOf(
  endpoint: Pick<EndpointObservation, 'destinationId' | 'endpointId'>,
  outcome: SendOutcome | undefined,
  observe: SendingDependencies['observe'],
): void {
  if (outcome === undefined) return
  const seen = { ...endpoint, at: new Date(), outcome: outcome.kind }
  if (outcome.kind === 'delivered') observe(seen)
  else if (outcome.code !== 'saturated') observe({ ...seen, failure: outcome.reason })
}

function verdict(outcomes: SendOutcome[], endpoints: readonly { id: string }[], policy: 'any' | 'all'): Posted {
  const delivered = outcomes.filter(({ kind }) => kind === 'delivered').length
  if (delivered > 0 && (policy === 'any' || delivered === outcomes.length)) return { kind: 'sent' }
  const rejected = outcomes.find((outcome) => outcome.kind === 'rejected')
  const waiting = endpoints.filter((_, index) => outcomes[index]?.kind === 'unavailable').map(({ id }) => id)
  if (waiting.length > 0 && (policy === 'any' || rejected === undefined))
    return { kind: 'unavailable', endpointIds: waiting }
  return { kind: 'failed', reason: rejected?.reason ?? 'the destination has no endpoint' }
}

/** Hands on what may yet get through, and writes down what became of all.
 *  @param after  the user before the first of the page */
async function record(
  { database, findDestination, startDelivery, metrics }: SendingDependencies,
  { sync, link }: SendInput,
  identify: IdentifyContext,
  after: string,
  { results }: PostedChanges,
): Promise<Partial<SendResult>> {
  const made = results.slice(0, results.findLastIndex(({ posted }) => posted.kind !== 'unmade') + 1)
  const last = made.at(-1)
  if (last === undefined) return {}
  const destination = findDestination(link.destinationId)
  const { successPolicy = 'any' } = destination ?? {}
  const failed: string[] = []
  const open: string[] = []
  const withheld: string[] = []
  const handedOn: { userId: string; workflowId: string; start: () => Promise<unknown> }[] = []
  let reason: string | undefined
  for (const { change, posted } of made) {
    const { userId } = change
    switch (posted.kind) {
      case 'sent':
        break
      case 'failed':
        reason ??= `${link.destinationId}: ${posted.reason}`
        failed.push(userId)
        break
      case 'unavailable': {
        const messageId = changeMessageId(identify, userId)
        const workflowId = changeWorkflowId(sync.audience.id, messageId, link.destinationId)
        const { endpointIds, mappingId } = posted
        const { destinationId } = link
        const target = {
          ...{ destinationId, endpointIds, successPolicy, ...(mappingId && { mappingId }) },
          ...(destination && ownRetry(destination)),
        }
        const start = (): Promise<unknown> => startDelivery(deliveryOf(sync, target, identify, change), workflowId)
        handedOn.push({ userId, workflowId, start })
        break
      }
      case 'withheld':
        withheld.push(userId)
        break
      case 'unmade':
        open.push(userId)
        break
    }
  }
  // Users who were taken off the audience meanwhile get no more calls.
  const left = handedOn.length === 0 ? handedOn : await openChanges(database, sync.number, link, handedOn)
  const starts = left.values()
  await Promise.all(
    Array.from({ length: startConcurrency }, async () => {
      for (const { start } of starts) await start()
    }),
  )
  const range = { after, upTo: last.change.userId }
  const totals = await recordOutcomes(database, sync.number, link, { range, failed, handedOn, withheld, open })
  const sent = made.length - failed.length - handedOn.length - withheld.length - open.length
  metrics.identifies.inc({ outcome: 'sent' }, sent)
  metrics.identifies.inc({ outcome: 'handedOn' }, handedOn.length)
  metrics.identifies.inc({ outcome: 'failed' }, failed.length)
  // What was not made is read again: the cursor stays before it.
  const cursor = made.length < results.length || open.length > 0 ? {} : { after: range.upTo }
  return { ...cursor, totals, ...(reason !== undefined && { reason }) }
}

const allMade = ({ results }: PostedChanges, changes: Change[]): boolean =>
  results.length === changes.length && results.every(({ posted }) => posted.kind !== 'unmade')

/** An ordinary delivery with its own window; the audience stands in the place of the source. */
const deliveryOf = (
  { audience, retry }: SyncDescription,
  target: DeliveryTarget,
  identify: IdentifyContext,
  change: Change,
): DeliverEventInput => ({
  sourceId: audience.id,
  messageId: changeMessageId(identify, change.userId),
  message: identifyBody(identify, change),
  targets: [target],
  retry,
})

/** For how long a sync tries to get through, and when: as the endpoint that is tried for longest. */
function patienceOf({ retry }: SyncDescription, destination: StoredDestination | undefined): RetrySchedule {
  if (destination === undefined) return retry
  const own = ownRetry(destination)
  return longestOf(
    destination.settings.webhooks.map(({ id }) => retryAt(retry, own, id)),
    retry,
  )
}

/** The failure that ends a try at an endpoint that is down; once its patience is over, no other try follows. */
function endpointDown(sync: SyncDescription, destination: StoredDestination | undefined): ApplicationFailure {
  const { attempt, scheduledTimestampMs } = Context.current().info
  const { initialMs, maxMs, windowMs } = patienceOf(sync, destination)
  const nextRetryDelay = retryDelayMs({ attempt, initialMs, maxMs, random: Math.random })
  return ApplicationFailure.create({
    type: audienceFailures.endpointDown,
    message: 'the destination is down',
    category: 'BENIGN',
    nextRetryDelay,
    nonRetryable: Date.now() + nextRetryDelay >= scheduledTimestampMs + windowMs,
  })
}
