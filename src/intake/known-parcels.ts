/** Recognises events that travel in a parcel, where Temporal knows no workflow of theirs. */

import type { Database } from '../db/database.ts'
import { findInParcels, sourcesInParcels } from '../db/parcels.ts'
import { inGroups } from '../in-groups.ts'
import { within } from '../within.ts'

/** How long a node believes that other nodes made no parcels with events of further sources, in milliseconds: a repeat that goes to another
 *  node that soon may be delivered twice. It looks again after half that time, and no event waits for that. */
const noneAgeMs = 1_000

/** Parcels that were made so long before the last look are looked at once more, in milliseconds: the statement that made them may have
 *  ended after it. */
const overlapMs = 10_000

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
  /** Finds the deliveries of a source that are in a parcel; answers none where the database does not answer. */
  among: (sourceId: string, deliveryIds: readonly string[]) => Promise<Set<string>>
  /** To be called when this node made parcels with events of these sources. */
  noteMade: (sourceIds: Iterable<string>) => void
}

/** The look-up of parcels; it asks the database nothing for a source of which no event is in a parcel: each start would wait for what the
 *  database writes. */
export function createKnownParcels(database: Database): KnownParcels {
  const sources = new Set<string>()
  let lookedAt: number | undefined
  let believedUntil = -Infinity
  let restUntil = -Infinity
  let looking: Promise<void> | undefined

  const answered = <Answer>(answer: Promise<Answer>): Promise<Answer> => within(answerLimitMs, 'the database', answer)

  const look = async (): Promise<void> => {
    const now = performance.now()
    try {
      const sinceMs = lookedAt === undefined ? undefined : now - lookedAt + overlapMs
      for (const id of await answered(sourcesInParcels(database, sinceMs))) sources.add(id)
      lookedAt = now
    } catch {
      // What was found before holds.
    }
    believedUntil = performance.now() + noneAgeMs
  }
  const lookOnce = (): Promise<void> => (looking ??= look().finally(() => (looking = undefined)))

  const find = inGroups(async (questions: readonly Question[]) => {
    const ids = questions.flatMap(({ deliveryIds }) => deliveryIds)
    const known = await answered(findInParcels(database, ids)).catch(() => {
      restUntil = performance.now() + restMs
      return new Set<string>()
    })
    for (const { deliveryIds, found } of questions) for (const id of deliveryIds) if (known.has(id)) found.add(id)
  }, maxQuestions)

  return {
    async among(sourceId, deliveryIds) {
      const believedMs = believedUntil - performance.now()
      if (believedMs < 0) await lookOnce()
      else if (believedMs < noneAgeMs / 2) void lookOnce()
      // Before the first look any source may have some.
      const mayHave = sources.has(sourceId) || lookedAt === undefined
      if (!mayHave || performance.now() < restUntil) return new Set()
      const question = { deliveryIds, found: new Set<string>() }
      await find(question)
      return question.found
    },
    noteMade(sourceIds) {
      for (const id of sourceIds) sources.add(id)
    },
  }
}
