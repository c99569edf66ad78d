/** What successful attempts took alone, beside the latency of their deliveries. */
export const attemptDurations = {
  name: '0053-attempt-durations',
  sql: `
    alter table attempt_stats
      -- successful attempts per bucket of what each took alone
      add column durations bigint[] not null default array_fill(0::bigint, array[20]);
  `,
}
