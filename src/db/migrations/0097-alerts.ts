/** What operators are told of: rules, channels, and alerts with their history. */
export const alerts = {
  name: '0097-alerts',
  sql: `
    create table alert_rules (
      single boolean primary key default true check (single),
      -- null: no alert
      endpoint_failing_after integer,
      destination_held boolean not null,
      inbox_older_than integer
    );
    insert into alert_rules values (true, 300, true, 300);
    create table alert_channels (
      id text primary key,
      name text not null,
      kind text not null,
      -- what of the settings is no secret
      target text not null,
      app_url text,
      settings_encrypted text not null,
      last_told_at timestamptz,
      last_error text,
      created_at timestamptz not null default now()
    );
    create table alerts (
      id text primary key,
      kind text not null,
      subject text not null,
      name text not null,
      reason text not null,
      path text not null,
      created_at timestamptz not null default clock_timestamp(),
      closed_at timestamptz,
      muted_until timestamptz,
      -- whether the workflow that tells of it was started
      opening_handed boolean not null default false,
      closing_handed boolean not null default false
    );
    -- of several nodes that see the same one opens the alert
    create unique index alerts_open on alerts (kind, subject) where closed_at is null;
    create index alerts_in_order on alerts (created_at, id)`,
}
