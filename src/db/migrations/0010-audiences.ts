/** Audiences: settings, staged memberships, what was acknowledged per destination, syncs and their changes.
 *  User ids sort by bytes (collation "C"): paging is the same on every database, and quick. */
export const audiences = {
  name: '0010-audiences',
  sql: `
    create table audiences (
      id text primary key,
      name text not null,
      key text not null,
      kind text not null,
      membership_kind text not null,
      membership_encrypted text not null,
      schedule json,
      paused boolean not null default false,
      max_bad_row_share double precision not null,
      max_removal_share double precision not null,
      max_per_second integer,
      load bigint,
      members bigint not null default 0,
      etag text,
      deleted_at timestamptz,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    );

    create table audience_links (
      link integer generated always as identity primary key,
      audience_id text not null,
      destination_id text references destinations on delete set null,
      key text not null,
      connected boolean not null default true,
      in_step boolean not null default false
    );
    create unique index audience_links_once on audience_links (audience_id, destination_id);
    create unique index audience_links_key on audience_links (destination_id, key) where connected;

    create table audience_loads (
      load bigint generated always as identity primary key,
      audience_id text not null,
      complete boolean not null default false,
      touched_at timestamptz not null default now()
    );
    create index audience_loads_by_audience on audience_loads (audience_id);

    create table audience_rows (
      load bigint not null,
      user_id text collate "C" not null,
      present boolean not null,
      value text,
      traits text,
      primary key (load, user_id)
    );

    create table audience_acknowledged (
      link integer not null,
      user_id text collate "C" not null,
      value text,
      primary key (link, user_id)
    );

    create table audience_syncs (
      number bigint generated always as identity primary key,
      id text not null unique,
      audience_id text not null,
      kind text not null,
      status text not null,
      phase text not null,
      load bigint,
      etag text,
      undo_of bigint,
      confirmed boolean not null default false,
      stop_requested boolean not null default false,
      undoable boolean not null default true,
      rows_read bigint not null default 0,
      bad_rows bigint not null default 0,
      bad_row_sample json not null default '[]',
      added bigint not null default 0,
      removed bigint not null default 0,
      unchanged bigint not null default 0,
      sent bigint not null default 0,
      handed_on bigint not null default 0,
      failed bigint not null default 0,
      reason text,
      requested_at timestamptz not null default now(),
      started_at timestamptz,
      sending_at timestamptz,
      ended_at timestamptz
    );
    create index audience_syncs_by_audience on audience_syncs (audience_id, number);

    create table audience_changes (
      sync bigint not null,
      link integer not null,
      user_id text collate "C" not null,
      present boolean not null,
      value text,
      traits text,
      was_present boolean not null,
      previous text,
      state smallint not null default 0,
      primary key (sync, link, user_id)
    ) with (fillfactor = 80);

    create table audience_handed_on (
      link integer not null,
      user_id text collate "C" not null,
      sync bigint not null,
      workflow_id text not null,
      was_present boolean not null,
      previous text,
      primary key (link, user_id)
    );
  `,
}
