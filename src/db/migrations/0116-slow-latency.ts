/** Latencies of more than ten seconds in finer buckets: those of `latency` were too wide to tell 100 seconds from four minutes. */
export const slowLatency = {
  name: '0116-slow-latency',
  sql: `
    alter table attempt_stats
      -- of the deliveries that latency counts, those of more than ten seconds; null: none, or written by a version that does not tell them apart
      add column slow_latency bigint[];
  `,
}
