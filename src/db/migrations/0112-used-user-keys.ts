/** Keys of users go when nothing can be left that is sealed with them. */
export const usedUserKeys = {
  name: '0112-used-user-keys',
  sql: `
    alter table user_keys
      -- when something was last sealed with it, some hours exact: no event costs a write
      add column used_at timestamptz not null default now();
  `,
}
