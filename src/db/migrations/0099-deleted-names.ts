/** What sources, destinations and audiences were called that are deleted: their deliveries are shown longer than they last. */
export const deletedNames = {
  name: '0099-deleted-names',
  sql: `
    create table deleted_names (id text primary key, name text not null, deleted_at timestamptz not null default now());
    create index deleted_names_by_time on deleted_names (deleted_at);

    create function keep_deleted_name() returns trigger language plpgsql as $$
    begin
      insert into deleted_names (id, name) values (old.id, old.name) on conflict (id) do nothing;
      delete from deleted_names where id in (select id from deleted_names order by deleted_at desc offset 10000);
      return null;
    end $$;

    create trigger name_kept after delete on sources for each row execute function keep_deleted_name();
    create trigger name_kept after delete on destinations for each row execute function keep_deleted_name();
    -- An audience is marked as deleted first, and its rows go later.
    create trigger name_kept after update on audiences for each row
      when (old.deleted_at is null and new.deleted_at is not null) execute function keep_deleted_name();
  `,
}
