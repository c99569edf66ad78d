/** What Temporal has of a user's events is sealed with a data key of the user: a deletion request destroys it. */
export const userKeys = {
  name: '0090-user-keys',
  sql: `
    create table user_keys (
      id text primary key,
      source_id text not null,
      -- keyed hash of the user id
      user_hash text not null,
      key_encrypted text not null,
      -- the deletion request that destroys it: nothing new is sealed with it
      request_id text
    );
    create unique index user_keys_in_use on user_keys (user_hash, source_id) where request_id is null;
    create index user_keys_of_requests on user_keys (request_id) where request_id is not null;

    alter table deletion_requests
      -- keys that it destroyed
      add column keys integer not null default 0,
      -- deliveries of its users that nobody can read any more
      add column deliveries integer not null default 0,
      -- when the keys were destroyed
      add column erased_at timestamptz;
    -- whether names and answers were removed, as its user was deleted
    alter table parcel_events add column erased boolean not null default false;
  `,
}
