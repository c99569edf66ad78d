/** Why an alert is over, where what was wrong is not mended. */
export const closedReason = {
  name: '0118-closed-reason',
  sql: 'alter table alerts add column closed_reason text',
}
