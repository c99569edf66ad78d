/** Recognises events that travel in a parcel, where Temporal knows no workflow of theirs. */

import type { Database } from '../db/database.ts'
import { findInParcels, hasParcels } from '../db/parcels.ts'
import { within } from '../within.ts'

/** How long it is believed that there are no parcels, in milliseconds. */
const noneAgeMs = 1_000

/** How long an event waits for the answer, in milliseconds: it is then taken for a new one. */
const answerLimitMs = 1_000

export interface KnownParcels {
  /** Which of these deliveries are in a parcel; none where the database does not answer. */
  among: (deliveryIds: readonly string[]) => Promise<Set<string>>
}

/** Costs nothing as long as there are no parcels. */
export function createKnownParcels(database: Database): KnownParcels {
  let areThere = false
  let believedUntil = -Infinity
  let looking: Promise<void> | undefined

  const answered = <Answer>(answer: Promise<Answer>): Promise<Answer> => within(answerLimitMs, 'the database', answer)

  const look = async (): Promise<void> => {
    areThere = await answered(hasParcels(database)).catch(() => areThere)
    believedUntil = performance.now() + noneAgeMs
  }

  return {
    async among(deliveryIds) {
      if (!areThere && performance.now() > believedUntil) {
        looking ??= look().finally(() => (looking = undefined))
        await looking
      }
      return areThere ? answered(findInParcels(database, deliveryIds)).catch(() => new Set()) : new Set()
    },
  }
}
