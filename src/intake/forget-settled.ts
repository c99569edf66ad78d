/** Removes events from the inbox that were refused or cancelled, and parcels that are over, once they are older than the
 *  retention of deliveries. */

import type { Database } from '../db/database.ts'
import { removeSettled } from '../db/inbox-steering.ts'
import { removeOldParcels } from '../db/parcels.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'

const pauseMs = 3_600_000

/** Looks once an hour.
 *  @param retentionMs  how long refused and cancelled events, and parcels that are over, stay, in milliseconds */
export function forgetSettled(database: Database, retentionMs: number, logger: Logger): { stop(): Promise<void> } {
  const failures = createFailureLog(logger, 'inbox.settled_not_removed')
  const removeBefore = async (moment: Date): Promise<void> => {
    await removeSettled(database.patient, moment)
    await removeOldParcels(database.patient, moment)
  }
  const remove = (): Promise<void> =>
    removeBefore(new Date(Date.now() - retentionMs)).then(failures.worked, failures.failed)
  let removing = remove()
  const timer = setInterval(() => {
    removing = remove()
  }, pauseMs).unref()
  return {
    async stop() {
      clearInterval(timer)
      await removing
    },
  }
}
