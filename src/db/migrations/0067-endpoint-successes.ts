/** When each endpoint took something for the last time: what failed before it belongs to no run of failures that goes on. */
export const endpointSuccesses = {
  name: '0067-endpoint-successes',
  sql: `
    alter table endpoint_health add column succeeded_at timestamptz;
    update endpoint_health set succeeded_at = observed_at where failing_since is null;
  `,
}
