/** How large and how deeply nested a parsed JSON value is. */

import type { EventFaultCode } from '../schemas/source-event.ts'
import { maxCallBytes, maxDepth } from './limits.ts'

/** Longest text of a JSON number, boolean or null, with its comma. */
const scalarBytes = 26
/** A character of a string becomes at most `\uXXXX`. */
const bytesPerCharacter = 6
/** Quotes, colon and comma of a member. */
const memberBytes = 4

/** The bound that `value` breaks, if any.
 *  @param bodyBytes  bytes of the JSON that `value` is a part of; when small enough, the size needs no check.
 *    Otherwise the size is that of the compact JSON, which is only written where a cheap upper bound does not settle it */
export function brokenBound(value: unknown, bodyBytes: number): EventFaultCode | undefined {
  const bytesAtMost = upperBound(value, maxDepth)
  if (bytesAtMost === Infinity) return 'too_deep'
  if (bodyBytes <= maxCallBytes || bytesAtMost <= maxCallBytes) return undefined
  return Buffer.byteLength(JSON.stringify(value)) > maxCallBytes ? 'call_too_large' : undefined
}

/** At least the bytes of `value` as compact JSON; `Infinity` when it has more than `levels` levels. */
function upperBound(value: unknown, levels: number): number {
  if (typeof value === 'string') return value.length * bytesPerCharacter + memberBytes
  if (typeof value !== 'object' || value === null) return scalarBytes
  if (levels === 0) return Infinity
  let bytes = memberBytes
  if (Array.isArray(value)) {
    for (const item of value) bytes += upperBound(item, levels - 1)
    return bytes
  }
  for (const key in value) {
    bytes +=
      key.length * bytesPerCharacter + memberBytes + upperBound((value as Record<string, unknown>)[key], levels - 1)
  }
  return bytes
}
