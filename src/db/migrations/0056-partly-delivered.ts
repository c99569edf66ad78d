/** Parcels count the events that only some of their destinations took. */
export const partlyDelivered = {
  name: '0056-partly-delivered',
  sql: `alter table parcels add column partly_delivered integer not null default 0`,
}
