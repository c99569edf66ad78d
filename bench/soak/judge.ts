/** Whether what a node takes of the machine levels off under an even load: the last third of a soak beside the middle one. */

import type { Sample } from './samples.ts'

export interface Verdict {
  figure: string
  unit: string
  /** Means of the thirds; of a database the bytes that an event adds. */
  middle: number
  last: number
  /** The last one may be at most this. */
  most: number
  hasLevelledOff: boolean
}

/** Levels of the processes. The last third may be above the middle one by a share, or by a few of its unit where that is little. */
const levels = [
  { figure: 'memory of the node', key: 'nodeMb', unit: 'MB', share: 0.05, slack: 15 },
  { figure: 'memory of the server', key: 'serverMb', unit: 'MB', share: 0.05, slack: 15 },
  { figure: 'sockets', key: 'sockets', unit: '', share: 0.1, slack: 5 },
  { figure: 'other open files', key: 'files', unit: '', share: 0.1, slack: 5 },
  { figure: "write-ahead log of Postrider's database", key: 'walMb', unit: 'MB', share: 0.1, slack: 64 },
] as const

/** Databases keep what was delivered until the retention is over: what each event adds must not grow. */
const growths = [
  { figure: "Postrider's database", key: 'databaseMb' },
  { figure: 'database of Temporal', key: 'temporalMb' },
] as const
/** A database grows in steps: bytes per event that are not worth a word, and how much more the last third may add. */
const leastBytes = 200
const moreBytes = 1.25

/** @throws RangeError with fewer than two samples to a third */
export function judge(samples: readonly Sample[]): Verdict[] {
  const third = Math.floor(samples.length / 3)
  if (third < 2) throw new RangeError(`${samples.length} samples are too few to judge by: at least 6`)
  const middle = samples.slice(-2 * third, -third)
  const last = samples.slice(-third)
  // The step from one third into the next belongs to the next.
  const before = { middle: samples.at(-2 * third - 1) ?? samples[0], last: middle.at(-1) }
  return [
    ...levels.map(({ figure, key, unit, share, slack }) => {
      const [a, b] = [mean(middle, key), mean(last, key)]
      return verdict(figure, unit, a, b, Math.max(a * (1 + share), a + slack))
    }),
    ...growths.map(({ figure, key }) => {
      const [a, b] = [bytesPerEvent(before.middle, middle.at(-1), key), bytesPerEvent(before.last, last.at(-1), key)]
      return verdict(figure, 'bytes an event', a, b, Math.max(a * moreBytes, leastBytes))
    }),
  ]
}

const verdict = (figure: string, unit: string, middle: number, last: number, most: number): Verdict => ({
  figure,
  unit,
  middle,
  last,
  most,
  hasLevelledOff: last <= most,
})

const mean = (samples: readonly Sample[], key: keyof Sample): number =>
  samples.reduce((sum, sample) => sum + sample[key], 0) / samples.length

function bytesPerEvent(from: Sample | undefined, to: Sample | undefined, key: 'databaseMb' | 'temporalMb'): number {
  if (from === undefined || to === undefined || to.delivered === from.delivered) return 0
  return ((to[key] - from[key]) * 1_048_576) / (to.delivered - from.delivered)
}
