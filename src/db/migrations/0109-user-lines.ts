/** Destinations may keep the order of each user's events: what waits in the inbox, or is under way, stands in a line. */
export const userLines = {
  name: '0109-user-lines',
  sql: `
    -- how long an event waits at most for those before it; null: it waits for none
    alter table destinations add column order_wait_seconds integer;
    -- until when it may wait for others; null: it stands in no line
    alter table inbox add column waits_until timestamptz;
    create table user_lines (
      ticket text primary key,
      -- stands for a user of a source at a destination
      line text not null,
      -- that of the inbox
      seq bigint not null,
      wait_ms integer not null,
      -- when its delivery was last begun, and how often
      taken_at timestamptz,
      takes integer not null default 0
    );
    create index user_lines_in_order on user_lines (line, seq);
    create index user_lines_by_seq on user_lines (seq);
  `,
}
