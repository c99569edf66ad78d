/** Latencies counted in buckets, and what percentiles can be read from the counts. */

/** Upper bounds of the buckets in milliseconds, up to the longest retry window that is common; a last one has no bound. */
const bounds = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000,
  14_400_000,
]

export const emptyBuckets = (): number[] => Array.from({ length: bounds.length + 1 }, () => 0)

/** Index of the bucket that a latency belongs to. */
export function bucketOf(latencyMs: number): number {
  const index = bounds.findIndex((bound) => latencyMs <= bound)
  return index === -1 ? bounds.length : index
}

/** The latency that `share` (0 to 1) of the counted ones do not exceed, in milliseconds: exact to the width of its
 *  bucket, inside of which it is interpolated; null when nothing was counted. */
export function percentile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let rank = share * total
  for (const [index, count] of counts.entries()) {
    const from = bounds[index - 1] ?? 0
    const to = bounds[index] ?? from
    if (count > 0 && rank <= count) return Math.round((from + ((to - from) * rank) / count) * 10) / 10
    rank -= count
  }
  return bounds.at(-1) ?? null
}
