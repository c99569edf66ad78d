/** A parcel may carry events of several turns: it has a row, with figures of its own, for those of each. */
export const sharedParcels = {
  name: '0080-shared-parcels',
  sql: `
    alter table parcel_events drop constraint parcel_events_parcel_id_fkey;
    alter table parcels
      -- which of the turns that share the parcel
      add column part integer not null default 0,
      drop constraint parcels_pkey,
      add primary key (id, part);
    alter table parcel_events
      add column part integer not null default 0,
      add foreign key (parcel_id, part) references parcels (id, part) on delete cascade;
  `,
}
