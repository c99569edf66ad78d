/** Endpoints know in what they want their requests to differ from the usual ones. */
export const endpointOptions = {
  name: '0096-endpoint-options',
  sql: `alter table endpoints add column options json not null default '{}'`,
}
