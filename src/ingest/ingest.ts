/** The ingest protocol: from a parsed request to events that are held durably, and what to tell the caller. */

import { AppError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'
import type { EventType } from '../schemas/message.ts'
import {
  BatchEnvelopeSchema,
  SingleEnvelopeSchema,
  maxMessageIdLength,
  readJson,
  readSourceEvent,
} from '../schemas/source-event.ts'
import type { EventFault, Read, SourceEvent } from '../schemas/source-event.ts'
import type { TurnedAwayFate } from '../schemas/turned-away.ts'
import { takeEvents } from './take-events.ts'
import { turnAway } from './turn-away.ts'
import { maxBatchEvents, maxCallBytes } from './limits.ts'
import { brokenBound } from './measure.ts'
import type { IngestPort, IngestSource } from './port.ts'
import { faultPath, faultSentence, refusal } from './refusal.ts'
import { resolveWriteKey } from './write-key.ts'

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
}

/** A refused item of a batch. */
export interface RejectedItem {
  index: number
  /** As the caller sent it, cut to the longest that is allowed; `null` when it is missing or no id. */
  messageId: string | null
  code: ErrorCode
  message: string
}

/** The valid events' message ids in their order, also of those that no destination wants, and the refused items. */
export interface IngestAnswer {
  accepted: string[]
  rejected: RejectedItem[]
}

/** Whose events are being handled and how many, as far as it is known: what a refusal counts. */
interface Tally {
  sourceId: string | undefined
  events: number
  /** The single call that the caller sent, and what its path says it is. */
  call?: { body: unknown; type: EventType }
}

const nothing: IngestAnswer = { accepted: [], rejected: [] }

/** The two ways into the server.
 *  @param lenientAuth  answer unknown write keys and disabled sources like valid ones, and drop their events */
export function createIngest(port: IngestPort, { lenientAuth }: { lenientAuth: boolean }) {
  /** Takes one call.
   *  @throws AppError with the fault's code and path; or what the port's `accept` throws */
  const single = (type: EventType, request: IngestRequest): Promise<IngestAnswer> =>
    countingRefusals(request, async (tally) => {
      tally.call = { body: request.body, type }
      const { writeKey } = expectRead(readJson(SingleEnvelopeSchema, request.body))
      const source = authenticate(request, writeKey, tally)
      if (source === undefined) return nothing
      if (request.bodyBytes > maxCallBytes) throw refusal({ code: 'call_too_large', path: '' })
      const event = expectRead(readCall(request.body, request.bodyBytes, type))
      return { accepted: await takeEvents(port, source, [event], {}, request), rejected: [] }
    })

  /** Takes the good events of a batch; a bad one does not sink the others.
   *  @throws AppError when the batch as a whole cannot be read; or what the port's `accept` throws */
  const batch = (request: IngestRequest): Promise<IngestAnswer> =>
    countingRefusals(request, async (tally) => {
      const envelope = expectRead(readJson(BatchEnvelopeSchema, request.body))
      tally.events = Array.isArray(envelope.batch) ? envelope.batch.length : 1
      const source = authenticate(request, envelope.writeKey, tally)
      if (source === undefined || envelope.batch === null) return nothing
      const items = expectItems(envelope.batch)
      const bound = brokenBound(envelope.context, request.bodyBytes)
      if (bound !== undefined) throw refusal({ code: bound, path: 'context' })

      const events: SourceEvent[] = []
      const rejected: RejectedItem[] = []
      items.forEach((item, index) => {
        const result = readCall(item, request.bodyBytes)
        if (result.ok) events.push(result.value)
        else rejected.push(rejection(item, index, result.fault))
      })
      const { receivedAt } = request
      for (const { index, code, message } of rejected) {
        port.count('rejected', source.id, 1, code)
        turnAway(port, source.id, { event: items[index], fate: 'rejected', receivedAt, reason: code, message })
      }
      tally.events = events.length
      return { accepted: await takeEvents(port, source, events, envelope, request), rejected }
    })

  /** The source that a request speaks for; `undefined` when it is to be answered 200 and dropped. */
  function authenticate(request: IngestRequest, bodyKey: string | undefined, tally: Tally) {
    const writeKey = resolveWriteKey(request.authorization, bodyKey)
    const source = writeKey === undefined ? undefined : port.findSource(writeKey)
    tally.sourceId = source?.id
    if (source?.enabled === true) return source
    const error = authError(writeKey, source)
    if (!lenientAuth) throw error
    port.count('dropped', source?.id, tally.events, error.code)
    turnCallAway(tally, 'dropped', error, request.receivedAt)
    return undefined
  }

  async function countingRefusals(
    { receivedAt }: IngestRequest,
    handle: (tally: Tally) => Promise<IngestAnswer>,
  ): Promise<IngestAnswer> {
    const tally: Tally = { sourceId: undefined, events: 1 }
    try {
      return await handle(tally)
    } catch (error) {
      const fault = error instanceof AppError ? error : new AppError('internal_error', 'Something went wrong here.')
      port.count('rejected', tally.sourceId, tally.events, fault.code)
      turnCallAway(tally, 'rejected', fault, receivedAt)
      throw error
    }
  }

  /** A call, whose type its path says; a batch that was refused as a whole is one event of which nothing is known. */
  function turnCallAway({ sourceId, call }: Tally, fate: TurnedAwayFate, fault: AppError, receivedAt: Date): void {
    if (sourceId === undefined) return
    const { code: reason, message } = fault
    turnAway(port, sourceId, { event: call?.body, type: call?.type, fate, receivedAt, reason, message })
  }

  return { single, batch }
}

export type Ingest = ReturnType<typeof createIngest>

function authError(writeKey: string | undefined, source: IngestSource | undefined): AppError {
  if (writeKey === undefined)
    return new AppError(
      'unknown_write_key',
      'There is no write key: send it as Basic user name, or as the string writeKey.',
    )
  if (source === undefined) return new AppError('unknown_write_key', 'No source has this write key.')
  return new AppError('source_disabled', 'The source of this write key is switched off.')
}

function readCall(value: unknown, bodyBytes: number, pathType?: EventType): Read<SourceEvent> {
  const bound = brokenBound(value, bodyBytes)
  return bound === undefined ? readSourceEvent(value, pathType) : { ok: false, fault: { code: bound, path: '' } }
}

function expectRead<T>(result: Read<T>): T {
  if (result.ok) return result.value
  throw refusal(result.fault)
}

function expectItems(batch: unknown): unknown[] {
  if (batch === undefined)
    throw new AppError('empty_batch', 'batch is missing: it is an array of events.', { path: 'batch' })
  if (!Array.isArray(batch)) throw new AppError('bad_request', 'batch must be an array of events.', { path: 'batch' })
  if (batch.length > maxBatchEvents)
    throw new AppError('too_large', `batch must have at most ${maxBatchEvents} events.`, { path: 'batch' })
  return batch
}

function rejection(item: unknown, index: number, fault: EventFault): RejectedItem {
  const message = faultSentence(faultPath(`batch[${index}]`, fault), fault.code)
  return { index, messageId: messageIdOf(item), code: fault.code, message }
}

function messageIdOf(item: unknown): string | null {
  if (typeof item !== 'object' || item === null || !('messageId' in item)) return null
  const { messageId } = item
  return typeof messageId === 'string' ? messageId.slice(0, maxMessageIdLength) : null
}
