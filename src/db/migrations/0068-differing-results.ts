/** Events of parcels know where they stand at each destination, where that differs, and parcels count those events. */
export const differingResults = {
  name: '0068-differing-results',
  sql: `
    alter table parcel_events add column results jsonb;
    alter table parcels add column differing integer not null default 0;
  `,
}
