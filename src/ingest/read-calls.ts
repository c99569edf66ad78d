/** From the JSON of a call, or of each item of a batch, to an event or a fault. */

import { AppError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'
import type { EventType } from '../schemas/message.ts'
import { maxMessageIdLength, readSourceEvent } from '../schemas/source-event.ts'
import type { EventFault, Read, SourceEvent } from '../schemas/source-event.ts'
import { maxBatchEvents } from './limits.ts'
import { brokenBound } from './measure.ts'
import { faultPath, faultSentence } from './refusal.ts'

/** A refused item of a batch. */
export interface RejectedItem {
  index: number
  /** As the caller sent it, cut to the longest that is allowed; `null` when it is missing or no id. */
  messageId: string | null
  code: ErrorCode
  message: string
}

/** Reads one call.
 *  @param bodyBytes  bytes of the JSON that it is a part of
 *  @param pathType  what its path says it is; otherwise it says so itself */
export function readCall(value: unknown, bodyBytes: number, pathType?: EventType): Read<SourceEvent> {
  const bound = brokenBound(value, bodyBytes)
  return bound === undefined ? readSourceEvent(value, pathType) : { ok: false, fault: { code: bound, path: '' } }
}

/** The items of a batch.
 *  @throws AppError when it is no array, or one of too many items */
export function expectItems(batch: unknown): unknown[] {
  if (batch === undefined)
    throw new AppError('empty_batch', 'batch is missing: it is an array of events.', { path: 'batch' })
  if (!Array.isArray(batch)) throw new AppError('bad_request', 'batch must be an array of events.', { path: 'batch' })
  if (batch.length > maxBatchEvents)
    throw new AppError('too_large', `batch must have at most ${maxBatchEvents} events.`, { path: 'batch' })
  return batch
}

/** Reads each item of a batch on its own.
 *  @param bodyBytes  bytes of the JSON of the whole batch */
export function readItems(
  items: readonly unknown[],
  bodyBytes: number,
): { events: SourceEvent[]; rejected: RejectedItem[] } {
  const events: SourceEvent[] = []
  const rejected: RejectedItem[] = []
  items.forEach((item, index) => {
    const result = readCall(item, bodyBytes)
    if (result.ok) events.push(result.value)
    else rejected.push(rejection(item, index, result.fault))
  })
  return { events, rejected }
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
