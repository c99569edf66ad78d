/** The header `Retry-After`: when the receiver wishes to be asked again. */

/** Longest wait that a receiver can ask for, in milliseconds: a day. */
export const maxRetryAfterMs = 24 * 60 * 60 * 1000

const seconds = /^\d+$/
// The three forms of RFC 9110, section 5.6.7; only the last has no zone, and means UTC.
const httpDate =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]+, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT)$/
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/** Milliseconds to wait from `now` on, at least 0 and at most `maxRetryAfterMs`; undefined when the value is neither
 *  seconds nor an HTTP date.
 *  @see RFC 9110, section 10.2.3 */
export const parseRetryAfter = (value: string, now: Date): number | undefined => {
  const text = value.trim()
  const waitMs = seconds.test(text) ? Number(text) * 1000 : parseHttpDate(text) - now.getTime()
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), maxRetryAfterMs)
}

const parseHttpDate = (text: string): number => {
  if (httpDate.test(text)) return Date.parse(text)
  return asctimeDate.test(text) ? Date.parse(`${text} GMT`) : NaN
}
