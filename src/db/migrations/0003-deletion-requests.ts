/** Requests to delete users, the users that are still to be done, and users whose events are dropped at the door. */
export const deletionRequests = {
  name: '0003-deletion-requests',
  sql: `
    create table deletion_requests (
      id text primary key,
      status text not null default 'waiting',
      suppress boolean not null,
      -- only these were asked for; null: all
      scope text[],
      source_ids text[] not null,
      users integer not null,
      notifications integer not null,
      started integer not null default 0,
      skipped integer not null default 0,
      cancelled integer not null default 0,
      created_at timestamptz not null,
      cleared_at timestamptz,
      ended_at timestamptz
    );
    create index deletion_requests_by_time on deletion_requests (created_at, id);
    create index deletion_requests_waiting on deletion_requests (created_at) where status = 'waiting';

    create table deletion_request_users (
      request_id text not null references deletion_requests on delete cascade,
      position integer not null,
      user_id text not null,
      primary key (request_id, position)
    );

    create table suppressed_users (
      number bigint generated always as identity primary key,
      -- of the source, or of nothing, and the user id
      hash bytea not null unique
    );
  `,
}
