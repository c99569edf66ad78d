/** Names that callers give stand in Temporal as keyed hashes: from when on, and the key. Nodes make both. */
export const idHashing = {
  name: '0065-id-hashing',
  sql: `
    create table id_hashing (
      only_row boolean primary key default true check (only_row),
      begins_at timestamptz not null,
      -- whether Temporal may still have deliveries whose names are not hashed
      has_plain boolean not null
    );

    -- one and the same key, sealed by each key of the ring: whichever of these a node has opens it
    create table id_hashing_keys (
      id text primary key,
      key_encrypted text not null
    );
  `,
}
