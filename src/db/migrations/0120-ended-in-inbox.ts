/** What ended in the inbox, in the order of the delivery log. */
export const endedInInbox = {
  name: '0120-ended-in-inbox',
  sql: `create index inbox_ended on inbox ((coalesce(cancelled_at, settled_at)), seq)
    where cancelled_at is not null or settled_at is not null`,
}
