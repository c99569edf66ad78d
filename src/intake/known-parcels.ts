/** Recognises events that travel in a parcel, where Temporal knows no workflow of theirs. */

import type { Database } from '../db/database.ts'
import { findInParcels, hasParcels } from '../db/parcels.ts'
import { inGroups } from '../in-groups.ts'
import { within } from '../within.ts'

/** How long a node believes that no other one made parcels, in milliseconds: a repeat that goes to another node that soon may
 *  be delivered twice. */
const noneAgeMs = 1_000

/** How long an event waits for the answer, in milliseconds: it is then taken for a new one. */
const answerLimitMs = 1_000

/** How long nobody asks a database that did not answer, in milliseconds: their events have waited for it once. */
const restMs = 1_000

/** Most look-ups that one query answers. */
const maxQuestions = 1_000

/** A look-up, and what it found. */
interface Question {
  deliveryIds: readonly string[]
  found: Set<string>
}

export interface KnownParcels {
  /** Finds the deliveries that are in a parcel; answers none where the database does not answer. */
  among: (deliveryIds: readonly string[]) => Promise<Set<string>>
  /** To be called when this node made parcels. */
  noteMade: () => void
}

/** The look-up of parcels; it asks the database nothing as long as there are none. */
export function createKnownParcels(database: Database): KnownParcels {
  let areThere = false
  let believedUntil = -Infinity
  let restUntil = -Infinity
  let looking: Promise<void> | undefined

  const answered = <Answer>(answer: Promise<Answer>): Promise<Answer> => within(answerLimitMs, 'the database', answer)

  const look = async (): Promise<void> => {
    areThere = await answered(hasParcels(database)).catch(() => areThere)
    believedUntil = performance.now() + noneAgeMs
  }

  const find = inGroups(async (questions: readonly Question[]) => {
    const ids = questions.flatMap(({ deliveryIds }) => deliveryIds)
    const known = await answered(findInParcels(database, ids)).catch(() => {
      restUntil = performance.now() + restMs
      return new Set<string>()
    })
    for (const { deliveryIds, found } of questions) for (const id of deliveryIds) if (known.has(id)) found.add(id)
  }, maxQuestions)

  return {
    async among(deliveryIds) {
      if (!areThere && performance.now() > believedUntil) {
        looking ??= look().finally(() => (looking = undefined))
        await looking
      }
      if (!areThere || performance.now() < restUntil) return new Set()
      const question = { deliveryIds, found: new Set<string>() }
      await find(question)
      return question.found
    },
    noteMade() {
      areThere = true
    },
  }
}
