/** What sources, destinations and audiences were called that are deleted: their deliveries are shown longer than they last. */
export const deletedNames = {
  name: '0099-deleted-names',
  sql: `
    create table deleted_names (id text primary key, name text not null, deleted_at timestamptz not null default now());
    create index deleted_names_by_time on deleted_names (deleted_at)`,
}
