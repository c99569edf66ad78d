/** Removes events from the inbox that were refused or cancelled, and parcels that are over, once they are older than the
 *  retention of deliveries, and late attempts some time after them; and what killed nodes left. */

import type { Database } from '../db/database.ts'
import { removeLateAttemptsBefore } from '../db/late-attempts.ts'
import { removeSettled } from '../db/inbox-steering.ts'
import { removeLostListenRequests } from '../db/listen-requests.ts'
import { removeOldParcels } from '../db/parcels.ts'
import { removeLostPlaces } from '../db/user-lines.ts'
import { keepLooking, type Looking } from '../keep-looking.ts'
import type { Logger } from '../logger.ts'

const pauseMs = 3_600_000

/** How much longer attempts stay that Temporal took no account of, in milliseconds: their delivery may go on after them. */
const lateAttemptsMs = 31 * 24 * 3_600_000

/** Looks once an hour.
 *  @param retentionMs  how long refused and cancelled events, and parcels that are over, stay, in milliseconds */
export function forgetSettled(database: Database, retentionMs: number, logger: Logger): Pick<Looking, 'stop'> {
  const look = async (): Promise<void> => {
    const before = new Date(Date.now() - retentionMs)
    await removeSettled(database.patient, before)
    await removeOldParcels(database.patient, before)
    await removeLateAttemptsBefore(database.patient, new Date(before.getTime() - lateAttemptsMs))
    await removeLostPlaces(database.patient)
    await removeLostListenRequests(database.patient)
  }
  return keepLooking({ look, failure: 'inbox.settled_not_removed', pauseMs, logger })
}
