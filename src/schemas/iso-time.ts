/** ISO 8601 date-times as client libraries write them. */

/** Date, optional time with 0 to 9 fractional digits, optional zone as `Z`, `+05:30`, `+0530` or `+05`. */
const isoPattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:Z|([+-]\d{2})(?::?(\d{2}))?)?)?$/i

/** The form that most clients send and that `Date.parse` reads fastest. */
const canonicalLength = '2026-01-01T00:00:00.000Z'.length

/** Milliseconds since 1970 of an ISO 8601 date-time; `undefined` when `text` is none.
 *  A time without a zone is UTC: `Date.parse` would read it in the server's zone, and would also take texts such as
 *  `March 7` or `2026-02-30`. Digits beyond the milliseconds are cut off. */
export function parseIsoTime(text: string): number | undefined {
  const parts = isoPattern.exec(text)
  if (parts === null || !isDayOfMonth(Number(parts[1]), Number(parts[2]), Number(parts[3]))) return undefined
  const time = Date.parse(isCanonical(text) ? text : canonical(parts))
  return Number.isNaN(time) ? undefined : time
}

const isCanonical = (text: string): boolean =>
  text.length === canonicalLength && text[10] === 'T' && text[19] === '.' && text[23] === 'Z'

function canonical(parts: RegExpExecArray): string {
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', zoneHour, zoneMinute = '00'] =
    parts
  const zone = zoneHour === undefined ? 'Z' : `${zoneHour}:${zoneMinute}`
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0')
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}${zone}`
}

const isDayOfMonth = (year: number, month: number, day: number): boolean =>
  day >= 1 && (day <= 28 || day <= new Date(Date.UTC(year, month, 0)).getUTCDate())
