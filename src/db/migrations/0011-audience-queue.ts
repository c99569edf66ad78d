/** Syncs that have not ended are looked for every few seconds, among all that did. Until when the calls to a destination
 *  are booked, where their rate is bounded. */
export const audienceQueue = {
  name: '0011-audience-queue',
  sql: `
    create index audience_syncs_open on audience_syncs (audience_id) where status in ('waiting', 'running');

    create table destination_paces (
      destination_id text primary key references destinations on delete cascade,
      free_at timestamptz not null
    );
  `,
}
