/** Attempts of which their nodes told when Temporal had given them up. */
export const lateAttempts = {
  name: '0108-late-attempts',
  sql: `
    create table late_attempts (
      workflow_id text not null,
      key text not null,
      at timestamptz not null,
      attempt json not null,
      primary key (workflow_id, key)
    );
    create index late_attempts_by_time on late_attempts (at);
  `,
}
