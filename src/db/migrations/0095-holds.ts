/** Destinations that are held while they fail. */
export const holds = {
  name: '0095-holds',
  sql: `
    alter table destinations
      add column on_failing text not null default 'retry',
      add column hold_after_seconds integer not null default 300,
      -- equals paused_at where not an operator paused it
      add column held_at timestamptz,
      add column held_failing_since timestamptz,
      -- what failed before tells nothing of the time since
      add column resumed_at timestamptz`,
}
