/** Destinations may have retry pauses of their own. */
export const retryPauses = {
  name: '0107-retry-pauses',
  sql: `alter table destinations add column retry_pauses json`,
}
