/** Tells every channel of one change of an alert, each until it has taken it or a day is over. */

import { proxyActivities } from '@temporalio/workflow'
import type { AlertActivities, TellAlertInput } from '../src/contracts/alerts.ts'

const { channelsToTell, tellChannel } = proxyActivities<AlertActivities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '1 day',
  retry: { initialInterval: '5 seconds', maximumInterval: '10 minutes' },
})

export async function tellAlert(input: TellAlertInput): Promise<void> {
  const channelIds = await channelsToTell(input)
  // What a channel refused stands beside it; the others go on.
  await Promise.allSettled(channelIds.map((channelId) => tellChannel({ ...input, channelId })))
}
