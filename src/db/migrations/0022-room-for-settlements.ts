/** Room in each page for the settled version of all its rows: an update that stays in its page leaves the index alone,
 *  which halves what the settlement of a change costs. */
export const roomForSettlements = {
  name: '0022-room-for-settlements',
  sql: 'alter table audience_changes set (fillfactor = 45)',
}
