/** What was cancelled in the inbox and is to be looked up in Temporal, found at once beside all that waits. */
export const cancelledInInbox = {
  name: '0117-cancelled-in-inbox',
  sql: 'create index inbox_cancelled on inbox (seq) where cancelled_at is not null and settled_at is null',
}
