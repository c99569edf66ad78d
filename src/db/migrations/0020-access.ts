/** API tokens, and the audit log of changes. */
export const access = {
  name: '0020-access',
  sql: `
    create table api_tokens (
      id text primary key,
      name text not null,
      role text not null,
      token_hash bytea not null unique,
      created_at timestamptz not null default now(),
      last_used_at timestamptz
    );
    create unique index api_tokens_by_name on api_tokens (lower(name));

    create table audit_log (
      id bigint generated always as identity primary key,
      at timestamptz not null default now(),
      actor text not null,
      action text not null,
      subject text not null,
      outcome text not null,
      before json,
      after json
    );
    create index audit_log_by_time on audit_log (at);
  `,
}
