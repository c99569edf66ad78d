/** Sources, destinations and their endpoints; a counter that tells nodes that something changed. */
export const settings = {
  name: '0001-settings',
  sql: `
    create table sources (
      id text primary key,
      name text not null,
      write_key text not null unique,
      enabled boolean not null default true,
      created_at timestamptz not null default now()
    );

    create table destinations (
      id text primary key,
      name text not null,
      type text not null,
      enabled boolean not null,
      success_policy text not null,
      shared_secret_encrypted text,
      previous_secret_encrypted text,
      previous_secret_until timestamptz,
      paused_at timestamptz,
      paused_total_ms bigint not null default 0,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    );

    create table destination_sources (
      destination_id text not null references destinations on delete cascade,
      source_id text not null references sources on delete cascade,
      primary key (destination_id, source_id)
    );
    create index destination_sources_by_source on destination_sources (source_id);

    create table endpoints (
      id text primary key,
      destination_id text not null references destinations on delete cascade,
      position integer not null,
      url text not null,
      headers_encrypted text not null
    );
    create index endpoints_by_destination on endpoints (destination_id, position);

    create table settings_version (
      only_row boolean primary key default true check (only_row),
      version bigint not null
    );
    insert into settings_version (version) values (1);

    create table installation (
      name text primary key,
      value text not null
    );
  `,
}
