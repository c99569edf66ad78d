/** Attempts per endpoint and minute with a histogram of latencies, and how each endpoint does now. */
export const attemptStats = {
  name: '0021-attempt-stats',
  sql: `
    create table attempt_stats (
      minute timestamptz not null,
      endpoint_id text not null,
      destination_id text not null,
      delivered bigint not null,
      failed bigint not null,
      -- deliveries per bucket of latency
      latency bigint[] not null,
      primary key (minute, endpoint_id)
    );

    create table endpoint_health (
      endpoint_id text primary key,
      destination_id text not null,
      observed_at timestamptz not null,
      -- null while its latest attempt succeeded
      failing_since timestamptz,
      reason text
    );
  `,
}
