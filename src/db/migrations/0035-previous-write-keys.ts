/** Write keys that were replaced and still count for a while. */
export const previousWriteKeys = {
  name: '0035-previous-write-keys',
  sql: `
    create table previous_write_keys (
      write_key text primary key,
      source_id text not null references sources on delete cascade,
      expires_at timestamptz not null
    );
    create index previous_write_keys_by_source on previous_write_keys (source_id);
  `,
}
