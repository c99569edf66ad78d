/** Removes keys of users with which nothing can be sealed any more that is still kept. */

import type { Database } from '../db/database.ts'
import { longestPauseMs } from '../db/longest-pause.ts'
import { removeUnusedKeys } from '../db/user-keys.ts'
import { keepLooking, type Looking } from '../keep-looking.ts'
import type { Logger } from '../logger.ts'

const pauseMs = 3_600_000

/** Beyond all that is known of, in milliseconds: uses are noted some hours late, Temporal is late to remove deliveries, and nodes may be down
 *  for some days. */
const marginMs = 7 * 24 * 3_600_000

export interface ExpireUserKeysDependencies {
  database: Database
  /** Whether a delivery is under way that began before a moment. */
  isUnderWaySince: (moment: Date) => Promise<boolean>
  /** How long deliveries stay after their end, and how long one may take, in milliseconds. */
  retentionMs: number
  windowMs: number
  logger: Logger
}

/** Looks once an hour. A delivery ends within its retry window, which stands still while its destination is paused, and is kept for the
 *  retention. */
export function expireUserKeys(dependencies: ExpireUserKeysDependencies): Pick<Looking, 'stop'> {
  const { logger } = dependencies
  return keepLooking({ look: () => removeExpired(dependencies), failure: 'user_keys.not_expired', pauseMs, logger })
}

export async function removeExpired({
  database,
  isUnderWaySince,
  retentionMs,
  windowMs,
}: Omit<ExpireUserKeysDependencies, 'logger'>): Promise<void> {
  const keptMs = retentionMs + windowMs + (await longestPauseMs(database)) + marginMs
  const before = new Date(Date.now() - keptMs)
  // One that took longer than it may, for nobody carried it on, still needs its key.
  if (await isUnderWaySince(before)) return
  await removeUnusedKeys(database.patient, before)
}
