/** Events of parcels that each endpoint took at once: when that was, until Temporal tells it, and afterwards where it never heard of it. */
export const takenAtOnce = {
  name: '0113-taken-at-once',
  sql: `
    -- endpoint by endpoint: when its attempt began in milliseconds since 1970, for how long it took, and the status
    alter table parcel_events add column taken json;
  `,
}
