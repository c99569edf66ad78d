import type { Alert } from '../../../../src/schemas/alert.ts'

/** Kinds of alerts in words. */
export const alertKinds: Record<Alert['kind'], string> = {
  endpoint_failing: 'Endpoint fails',
  endpoint_failing_often: 'Endpoint fails often',
  endpoint_down: 'Endpoint down',
  destination_held: 'Destination held',
  inbox_old: 'Inbox waits',
  sync_failed: 'Sync failed',
  sync_refused: 'Sync waits to be confirmed',
  audience_resized: 'Audience changed its size',
  key_ending: 'Replaced key ends',
}
