/** Removes events from the inbox that were refused or cancelled, once they have been there to be looked at for as long as
 *  deliveries are. */

import type { Database } from '../db/database.ts'
import { removeSettled } from '../db/inbox-steering.ts'
import type { Logger } from '../logger.ts'

const pauseMs = 3_600_000

/** @param retentionMs  how long they stay, in milliseconds */
export function forgetSettled(database: Database, retentionMs: number, logger: Logger): { stop(): Promise<void> } {
  const remove = (): Promise<void> =>
    removeSettled(database.patient, new Date(Date.now() - retentionMs)).catch((error: Error) =>
      logger.warn({ error: error.message }, 'inbox.settled_not_removed'),
    )
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
