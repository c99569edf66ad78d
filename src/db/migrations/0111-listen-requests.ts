/** Requests to endpoints that fetch them, until they are answered; and who fetches those of a destination. */
export const listenRequests = {
  name: '0111-listen-requests',
  sql: `
    create table listen_requests (
      id text primary key,
      -- not referenced: a change of settings writes its endpoints anew
      endpoint_id text not null,
      request_encrypted text not null,
      created_at timestamptz not null default clock_timestamp(),
      -- when its attempt gives up
      until timestamptz not null,
      fetched_at timestamptz,
      status integer
    );
    create index listen_requests_in_order on listen_requests (endpoint_id, created_at);
    create index listen_requests_by_end on listen_requests (until);
    create table listeners (
      destination_id text primary key references destinations on delete cascade,
      listener text not null,
      until timestamptz not null
    );
  `,
}
