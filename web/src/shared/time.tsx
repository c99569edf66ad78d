import { useEffect, useState } from 'react'

const dateTime = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
})
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

/** One format for every time of the app, in the reader's zone, which it names: `22 Nov 2026, 17:05:09 UTC`.
 *  @param at  ISO 8601, or milliseconds since 1970 */
export const formatTime = (at: string | number): string => dateTime.format(new Date(at))

/** The time of day alone, where the day is plain. */
export const formatClock = (at: string): string => clock.format(new Date(at))

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const minute = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' })

/** The day alone, as in `22 Nov`.
 *  @param at  in milliseconds since 1970 */
export const formatDay = (at: number): string => day.format(at)

/** The time of day to the minute, as in `17:05`.
 *  @param at  in milliseconds since 1970 */
export const formatMinute = (at: number): string => minute.format(at)

/** The reader's zone, as in `UTC` or `GMT+1`.
 *  @param at  ISO 8601, or milliseconds since 1970: summer time has another name */
export const zoneName = (at: string | number = Date.now()): string =>
  dateTime.formatToParts(new Date(at)).find(({ type }) => type === 'timeZoneName')?.value ?? 'local time'

/** The time of now, renewed every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

const units: [name: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
]

/** A span as a reader wants it: `850 ms`, `12 s`, `4 min`, `3 h`, `2 d`. */
export function formatSpan(ms: number, { whole = false } = {}): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  const seconds = Math.round(ms / 1_000)
  const unit = units.find(([, size]) => seconds >= size)
  return unit === undefined ? `${seconds} s` : `${round(seconds / unit[1], whole)} ${unit[0]}`
}

const round = (amount: number, whole: boolean): number => (whole ? Math.floor(amount) : Math.round(amount * 10) / 10)

/** How long ago something was; its exact time on demand. */
export function Ago({ at }: { at: string }) {
  const now = useNow(10_000)
  const since = now - Date.parse(at)
  // A tooltip of the component library costs more than the row it stands in.
  return (
    <time dateTime={at} title={formatTime(at)} style={{ whiteSpace: 'nowrap' }}>
      {since < 5_000 ? 'just now' : `${formatSpan(since, { whole: true })} ago`}
    </time>
  )
}

const minuteMs = 60_000

const dateAndMinute = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})

/** How long ago something was of which only the minute is known: at least, so that it never seems to be older than what it happened to.
 *  @param at  the beginning of its minute */
export function AgoToTheMinute({ at }: { at: string }) {
  const since = useNow(10_000) - Date.parse(at)
  return (
    <time dateTime={at} title={dateAndMinute.format(new Date(at))} style={{ whiteSpace: 'nowrap' }}>
      {since < 2 * minuteMs
        ? `less than ${since < minuteMs ? 1 : 2} min ago`
        : `${formatSpan(since - minuteMs, { whole: true })} ago`}
    </time>
  )
}

/** For how long something has lasted, as in `33 s`; its exact beginning on demand. */
export function SpanSince({ at }: { at: string }) {
  const lasted = Math.max(1_000, useNow(10_000) - Date.parse(at))
  return (
    <time dateTime={at} title={formatTime(at)} style={{ whiteSpace: 'nowrap' }}>
      {formatSpan(lasted, { whole: true })}
    </time>
  )
}

/** Counts down to a time. */
export function Countdown({ to }: { to: string }) {
  const left = Date.parse(to) - useNow(500)
  return <time dateTime={to}>{left <= 0 ? 'any moment now' : `in ${formatSpan(Math.ceil(left / 1_000) * 1_000)}`}</time>
}
