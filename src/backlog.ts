/** Work that waits in the database, done on any node: at once when woken, after a restart, and when Temporal was away. */

import { keepLooking, type Looking } from './keep-looking.ts'
import type { Logger } from './logger.ts'

/** Looks again and again for what waits, and handles it, one by one.
 *  @param waiting  ids of some that wait
 *  @param handle  does what one of them waits for; another call for the same one does no harm
 *  @param failure  what is logged when either begins to fail; both are tried again at the next look
 *  @param pauseMs  between two looks, in milliseconds; 2,000 unless given */
export function runBacklog({
  waiting,
  handle,
  ...options
}: {
  waiting: () => Promise<string[]>
  handle: (id: string) => Promise<void>
  failure: string
  pauseMs?: number
  logger: Logger
}): Looking {
  const look = async (): Promise<void> => {
    for (const id of await waiting()) await handle(id)
  }
  return keepLooking({ look, ...options })
}
