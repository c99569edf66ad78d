/** What becomes of events before they are sent to a destination, in all versions that deliveries may still name. */
export const mappings = {
  name: '0085-mappings',
  sql: `
    create table mappings (
      destination_id text not null references destinations on delete cascade,
      -- says the same as the mapping
      id text not null,
      mapping json not null,
      -- when it came into force last
      used_at timestamptz not null default now(),
      primary key (destination_id, id)
    );
    -- null: events are sent as they are
    alter table destinations add column mapping_id text`,
}
