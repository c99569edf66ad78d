/** When the newest failure of an endpoint ended that is final: it is so while no later attempt was observed, also by nodes of the version
 *  before, which leave the column alone. */
export const finalFailures = {
  name: '0119-final-failures',
  // What earlier versions observed is told by its words, which they made.
  sql: `
    alter table endpoint_health add column final_at timestamptz;
    update endpoint_health set final_at = observed_at
      where failing_since is not null and reason ~ '^The endpoint answered (3[0-9]{2}|4(?!08|25|29)[0-9]{2})';
  `,
}
