/** What waits in the inbox, in order: found at once, however much there is beside it that was refused or cancelled. */
export const inboxInOrder = {
  name: '0051-inbox-in-order',
  sql: 'create index inbox_in_order on inbox (seq) where settled_at is null',
}
