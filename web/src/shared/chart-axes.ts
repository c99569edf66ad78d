/** The axes of a chart over time: round steps, and a date wherever the time of day alone does not tell the day. */

import { formatDay, formatMinute } from './time.tsx'

const daySeconds = 86_400

/** Steps of an axis that begins at 0, for counts: about five, each 1, 2 or 5 times a power of ten.
 *  @param max  the largest count that is drawn
 *  @returns the values that are marked; the last one is the end of the axis */
export function countSteps(max: number): number[] {
  const least = Math.max(1, max) / 5
  const power = 10 ** Math.floor(Math.log10(least))
  const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= least) ?? 1)
  return Array.from({ length: Math.max(1, Math.ceil(max / step)) + 1 }, (_, index) => index * step)
}

/** Labels of an axis of time. The first one has its date, and so has every one that begins another day.
 *  @param times  the marked times, in seconds since 1970
 *  @param stepSeconds  between two of them */
export function timeLabels(times: readonly number[], stepSeconds: number): string[] {
  const days = times.map((at) => formatDay(at * 1_000))
  if (stepSeconds >= daySeconds) return days
  return times.map((at, index) => {
    const day = days[index] === days[index - 1] ? '' : `\n${days[index]}`
    return formatMinute(at * 1_000) + day
  })
}
