/** The ingest protocol: from a parsed request to events that are held durably, and what to tell the caller. */

import type { FirstOutcome } from '../schemas/first-outcome.ts'
import type { EventType } from '../schemas/message.ts'
import { BatchEnvelopeSchema, SingleEnvelopeSchema, readJson } from '../schemas/source-event.ts'
import { createAuthentication } from './authenticate.ts'
import { countingRefusals, type CallTally } from './call-tally.ts'
import { boundEventRate } from './event-rate.ts'
import { maxCallBytes } from './limits.ts'
import { brokenBound } from './measure.ts'
import type { IngestPort } from './port.ts'
import { expectItems, readCall, readItems, type RejectedItem } from './read-calls.ts'
import { expectRead, refusal } from './refusal.ts'
import { takeEvents } from './take-events.ts'
import { turnAway } from './turn-away.ts'
import { expectNoWait, outcomeOf, readWait, withoutDelivery } from './wait.ts'

/** A request with its parsed body. */
export interface IngestRequest {
  authorization: string | undefined
  body: unknown
  /** Bytes of the body's JSON, after inflating. */
  bodyBytes: number
  receivedAt: Date
  /** Whether a browser sent it, which does not know its own address. */
  fromBrowser: boolean
  /** Address of the sender; asked only where an event wants it. */
  ip: () => string
  /** The trace that it is part of; absent where tracing is off. */
  traceparent?: string | undefined
  /** How long the caller waits to be told what becomes of its event, as it was sent; absent: not at all. */
  wait?: unknown
  /** Aborts when nobody waits for the answer any more; asked only where the caller waits. */
  gone: () => AbortSignal
}

/** The valid events' message ids in their order, also of those that no destination wants, and the refused items. */
export interface IngestAnswer {
  accepted: string[]
  rejected: RejectedItem[]
  /** For a caller that waits: what became of the event; null when that is not known. */
  outcome?: FirstOutcome | null
}

export interface Ingest {
  /** Takes one call.
   *  @throws AppError with the fault's code and path; or what the port's `accept` throws */
  single(type: EventType, request: IngestRequest): Promise<IngestAnswer>
  /** Takes the good events of a batch; a bad one does not sink the others.
   *  @throws AppError when the batch as a whole cannot be read; or what the port's `accept` throws */
  batch(request: IngestRequest): Promise<IngestAnswer>
}

const nothing: IngestAnswer = { accepted: [], rejected: [] }

/** The two ways into the server.
 *  @param lenientAuth  answer unknown write keys and disabled sources like valid ones, and drop their events
 *  @param maxEventsPerSource  events a second that are taken of each source; absent: no bound */
export function createIngest(
  port: IngestPort,
  { lenientAuth, maxEventsPerSource }: { lenientAuth: boolean; maxEventsPerSource?: number | undefined },
): Ingest {
  const takeOfRate = boundEventRate(maxEventsPerSource)
  const authenticate = createAuthentication(port, lenientAuth)

  const single = async (type: EventType, request: IngestRequest, tally: CallTally): Promise<IngestAnswer> => {
    tally.call = { body: request.body, type }
    const { writeKey } = expectRead(readJson(SingleEnvelopeSchema, request.body))
    const source = authenticate(request, writeKey, tally)
    const waitMs = request.wait === undefined ? undefined : readWait(request.wait)
    if (source === undefined) return waitMs === undefined ? nothing : { ...nothing, ...withoutDelivery('dropped') }
    takeOfRate(source.id, 1)
    if (request.bodyBytes > maxCallBytes) throw refusal({ code: 'call_too_large', path: '' })
    const event = expectRead(readCall(request.body, request.bodyBytes, type))
    const taken = await takeEvents(port, source, [event], {}, request)
    const outcome = waitMs === undefined ? {} : await outcomeOf(port, source.id, taken, waitMs, request.gone())
    return { accepted: taken.messageIds, rejected: [], ...outcome }
  }

  const batch = async (request: IngestRequest, tally: CallTally): Promise<IngestAnswer> => {
    const envelope = expectRead(readJson(BatchEnvelopeSchema, request.body))
    expectNoWait(request.wait)
    tally.events = Array.isArray(envelope.batch) ? envelope.batch.length : 1
    const source = authenticate(request, envelope.writeKey, tally)
    if (source === undefined || envelope.batch === null) return nothing
    const items = expectItems(envelope.batch)
    takeOfRate(source.id, items.length)
    const bound = brokenBound(envelope.context, request.bodyBytes)
    if (bound !== undefined) throw refusal({ code: bound, path: 'context' })

    const { events, rejected } = readItems(items, request.bodyBytes)
    rejectItems(port, source.id, items, rejected, request.receivedAt)
    tally.events = events.length
    return { accepted: (await takeEvents(port, source, events, envelope, request)).messageIds, rejected }
  }

  return {
    single: (type, request) => countingRefusals(port, request.receivedAt, (tally) => single(type, request, tally)),
    batch: (request) => countingRefusals(port, request.receivedAt, (tally) => batch(request, tally)),
  }
}

function rejectItems(
  port: IngestPort,
  sourceId: string,
  items: readonly unknown[],
  rejected: readonly RejectedItem[],
  receivedAt: Date,
): void {
  for (const { index, code, message } of rejected) {
    port.count('rejected', sourceId, 1, code)
    turnAway(port, sourceId, { event: items[index], fate: 'rejected', receivedAt, reason: code, message })
  }
}
