/** Which settings changed at which version, whoever changes them: a node reads these alone. What is gone stays noted. */
export const settingsChanges = {
  name: '0050-settings-changes',
  sql: `
    create table settings_changes (id text primary key, version bigint not null);
    create index settings_changes_by_version on settings_changes (version);

    -- The version was raised before, in the same transaction. The argument names the column with the id of the source or
    -- destination.
    create function note_settings_change() returns trigger language plpgsql as $$
    begin
      insert into settings_changes (id, version)
      select to_jsonb(coalesce(new, old)) ->> tg_argv[0], version from settings_version
      on conflict (id) do update set version = excluded.version where settings_changes.version <> excluded.version;
      return null;
    end $$;

    create trigger noted after insert or update or delete on sources
      for each row execute function note_settings_change('id');
    create trigger noted after insert or update or delete on previous_write_keys
      for each row execute function note_settings_change('source_id');
    create trigger noted after insert or update or delete on destinations
      for each row execute function note_settings_change('id');
    create trigger noted after insert or update or delete on endpoints
      for each row execute function note_settings_change('destination_id');
    create trigger noted after insert or update or delete on destination_sources
      for each row execute function note_settings_change('destination_id');
  `,
}
