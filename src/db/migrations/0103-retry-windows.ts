/** Destinations may have a retry window of their own. */
export const retryWindows = {
  name: '0103-retry-windows',
  sql: `alter table destinations add column retry_window_hours integer`,
}
