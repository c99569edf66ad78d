/** When the newest failure of an endpoint ended that is final: it is so while no later attempt was observed, also by nodes of the version
 *  before, which leave the column alone. */
export const finalFailures = {
  name: '0119-final-failures',
  sql: 'alter table endpoint_health add column final_at timestamptz',
}
