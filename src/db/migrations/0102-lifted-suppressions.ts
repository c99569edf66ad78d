/** How often suppressions were lifted: nodes that have the suppressed users in memory read them anew. */
export const liftedSuppressions = {
  name: '0102-lifted-suppressions',
  sql: `
    alter table audience_forgets add column lifts bigint not null default 0;
  `,
}
