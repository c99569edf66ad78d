/** Destinations whose waiting deliveries are still to be told of a change. The id is a new one with each change. */
export const destinationRechecks = {
  name: '0041-destination-rechecks',
  sql: `
    create table destination_rechecks (
      destination_id text primary key,
      recheck_id text not null unique
    )`,
}
