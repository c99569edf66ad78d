/** Holds a destination while every endpoint fails: probes now and then, and resumes it when one answers. */

import { continueAsNew, proxyActivities, sleep } from '@temporalio/workflow'
import type { HoldActivities, HoldInput } from '../src/contracts/holds.ts'

const { hold, probeHeld } = proxyActivities<HoldActivities>({
  startToCloseTimeout: '2 minutes',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
  // Live deliveries go first.
  priority: { priorityKey: 5 },
})

/** The first pause between two probes, in milliseconds; it doubles with each that fails up to the longest. */
const firstPauseMs = 2_000
const longestPauseMs = 60_000

/** Probes of one run: its history stays small. */
const probesOfRun = 200

export async function holdDestination(input: HoldInput): Promise<void> {
  if (!(await hold(input))) return
  for (let probe = 0; probe < probesOfRun; probe++) {
    await sleep(Math.min(firstPauseMs * 2 ** probe, longestPauseMs))
    if (!(await probeHeld(input))) return
  }
  await continueAsNew<typeof holdDestination>(input)
}
