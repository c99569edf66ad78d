/** When users were deleted last: what began before is not sent again. How often users were taken off the audiences: syncs
 *  that have read changes before read them anew. */
export const deletedUsers = {
  name: '0039-deleted-users',
  sql: `
    create table deleted_users (
      -- of the source, or of nothing, and the user id
      hash bytea primary key,
      deleted_at timestamptz not null
    );
    create index deleted_users_by_time on deleted_users (deleted_at);

    create table audience_forgets (times bigint not null);
    insert into audience_forgets values (0);
  `,
}
