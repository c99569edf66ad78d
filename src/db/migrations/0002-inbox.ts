/** Events that wait for their delivery to start, and what became of events per minute. */
export const inbox = {
  name: '0002-inbox',
  sql: `
    create table inbox (
      seq bigint generated always as identity primary key,
      workflow_id text not null unique,
      source_id text not null,
      message_id text not null,
      user_id text,
      type text not null,
      destination_ids text[] not null,
      -- json, not jsonb: the body's members keep their order and its numbers their form
      input json not null,
      received_at timestamptz not null,
      leased_until timestamptz,
      refusal text
    );
    create index inbox_by_message on inbox (message_id);
    create index inbox_refused on inbox (seq) where refusal is not null;

    create table event_fates (
      minute timestamptz not null,
      source_id text not null,
      fate text not null,
      reason text not null,
      events bigint not null,
      primary key (minute, source_id, fate, reason)
    );
  `,
}
