/** Latencies counted in buckets, and what percentiles can be read from the counts. */

/** Upper bounds of the buckets in milliseconds, up to the retry window unless another one is set; a last one has no bound. */
const bounds = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000,
  14_400_000,
]

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** Latencies of more than this are counted a second time, in finer buckets; in milliseconds. */
const slowFromMs = 10 * secondMs

/** Upper bounds of these, up to the longest retry window, each at most one and a half times the one before; a last one has no bound. The
 *  bounds above are among them, so that each of these buckets is a part of one of those. */
const slowBounds = [
  ...[15, 20, 30, 45].map((seconds) => seconds * secondMs),
  ...[1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 45].map((minutes) => minutes * minuteMs),
  ...[1, 1.5, 2, 3, 4, 6, 8, 12, 18, 24, 36, 48, 72].map((hours) => hours * hourMs),
]

export const emptyBuckets = (): number[] => zeros(bounds.length + 1)

/** Index of the bucket that a latency belongs to. */
export const bucketOf = (latencyMs: number): number => indexIn(bounds, latencyMs)

export const emptySlowBuckets = (): number[] => zeros(slowBounds.length + 1)

/** Index of its finer bucket; undefined for a latency that has none. */
export const slowBucketOf = (latencyMs: number): number | undefined =>
  latencyMs > slowFromMs ? indexIn(slowBounds, latencyMs) : undefined

/** The latency that `share` (0 to 1) of the counted ones do not exceed, in milliseconds: exact to the width of its
 *  bucket, inside of which it is interpolated; of the last one, which has no end, its beginning; null when nothing was counted.
 *  @param slow  those that were counted in finer buckets, too; fewer than there are where some were counted by an earlier version */
export function percentile(counts: readonly number[], share: number, slow: readonly number[] = []): number | null {
  const buckets = withSlow(counts, slow).filter(({ count }) => count > 0)
  let rank = share * buckets.reduce((sum, { count }) => sum + count, 0)
  for (const { from, to, count } of buckets) {
    if (rank <= count) return to === Infinity ? from : Math.round((from + ((to - from) * rank) / count) * 10) / 10
    rank -= count
  }
  return buckets.at(-1)?.from ?? null
}

interface Bucket {
  from: number
  to: number
  count: number
}

/** The buckets, with finer ones in place of those that they are parts of: what only the wider one counted is spread over them evenly. */
function withSlow(counts: readonly number[], slow: readonly number[]): Bucket[] {
  const finer = bucketsOf(slowBounds, slowFromMs, slow)
  return bucketsOf(bounds, 0, counts).flatMap((bucket) => {
    const parts = finer.filter(({ from, to }) => from >= bucket.from && to <= bucket.to)
    const others = bucket.count - parts.reduce((sum, { count }) => sum + count, 0)
    if (parts.length === 0 || bucket.to === Infinity) return [{ ...bucket, count: others }, ...parts]
    const perMs = others / (bucket.to - bucket.from)
    return parts.map(({ from, to, count }) => ({ from, to, count: count + perMs * (to - from) }))
  })
}

const bucketsOf = (upTo: readonly number[], start: number, counts: readonly number[]): Bucket[] =>
  counts.map((count, index) => ({ from: upTo[index - 1] ?? start, to: upTo[index] ?? Infinity, count }))

function indexIn(upTo: readonly number[], latencyMs: number): number {
  const index = upTo.findIndex((bound) => latencyMs <= bound)
  return index === -1 ? upTo.length : index
}

const zeros = (length: number): number[] => Array.from({ length }, () => 0)
