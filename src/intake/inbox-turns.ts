/** Whose events of the inbox come next. */

import type { Database } from '../db/database.ts'
import { leaseFromInbox, sourcesInInbox, type Lane, type LeasedEvent } from '../db/inbox.ts'

/** A batch has the same number of events of each source, as far as there are; when more sources wait than it has places, the
 *  next batch begins behind the last one of them.
 *  @param batchSize  most events in a batch
 *  @param leaseMs  how long they are this node's, in milliseconds
 *  @returns takes the next batch, in the order to start it: sources with few events first, who then wait least and hold
 *    up the others no longer than an even mixture would. Empty when no event is to be had */
export function createInboxTurns(
  database: Database,
  lane: Lane,
  batchSize: number,
  leaseMs: number,
): () => Promise<LeasedEvent[]> {
  let after = ''

  const nextBatch = async (): Promise<LeasedEvent[]> => {
    const sources = await sourcesInInbox(database, lane, after, batchSize)
    after = sources.length < batchSize ? '' : (sources.at(-1) ?? '')
    if (sources.length === 0) return []
    const events = await leaseFromInbox(database, lane, sources, Math.floor(batchSize / sources.length), leaseMs)
    return fewestFirst(events)
  }

  return async () => {
    // Another node may have what one batch would have had: on to the next, once round at most.
    for (let endsToPass = after === '' ? 0 : 1; ; endsToPass--) {
      do {
        const batch = await nextBatch()
        if (batch.length > 0) return batch
      } while (after !== '')
      if (endsToPass === 0) return []
    }
  }
}

/** @param events  in order of arrival, which each source's keep */
function fewestFirst(events: readonly LeasedEvent[]): LeasedEvent[] {
  const counts = new Map<string, number>()
  for (const { input } of events) counts.set(input.sourceId, (counts.get(input.sourceId) ?? 0) + 1)
  const countOf = ({ input }: LeasedEvent): number => counts.get(input.sourceId) ?? 0
  return events.toSorted((a, b) => countOf(a) - countOf(b))
}
