/** Attempts of which Temporal took no account, since their node stood still until they were given up, or the time for retries was over before
 *  they were told of: written beside it, and added where deliveries are shown. */

import { distinctAttempts, withoutEvidence } from '../contracts/attempts.ts'
import type { Attempt } from '../contracts/delivery.ts'
import type { Database } from '../db/database.ts'
import { addLateAttempts, countLateAttempts, readLateAttempts, type LateAttempt } from '../db/late-attempts.ts'
import { createFailureLog } from '../failure-log.ts'
import { writeGathered } from '../gathered-writes.ts'
import type { Logger } from '../logger.ts'
import type { NamesInTemporal } from '../temporal/names-in-temporal.ts'

const writePauseMs = 1_000

/** Attempts that wait to be written, far more than a node has under way; of more, the first. */
const maxWaiting = 10_000

interface LateAttemptsDependencies {
  database: Database
  names: Pick<NamesInTemporal, 'workflowId' | 'workflowIds'>
}

export interface LateAttemptsKeeper {
  /** Keeps an attempt that Temporal may take no account of. */
  keep: (deliveryId: string, attempt: Attempt) => void
  /** Writes what waits. */
  stop(): Promise<void>
}

export function keepLateAttempts({
  database,
  names,
  logger,
}: LateAttemptsDependencies & { logger: Logger }): LateAttemptsKeeper {
  const failures = createFailureLog(logger, 'attempt.late_not_written')
  let waiting: LateAttempt[] = []

  const write = async (): Promise<void> => {
    const late = waiting
    if (late.length === 0) return
    waiting = []
    try {
      await addLateAttempts(database, late)
      failures.worked()
    } catch (error) {
      waiting = [...late, ...waiting].slice(0, maxWaiting)
      failures.failed(error)
    }
  }

  const writes = writeGathered(write, writePauseMs)
  return {
    keep(deliveryId, attempt) {
      if (waiting.length < maxWaiting)
        waiting.push({ workflowId: names.workflowId(deliveryId), attempt: withSealedEvidence(attempt) })
    },
    async stop() {
      await writes.written()
      await writes.end()
    },
  }
}

/** Without evidence that is sealed with nobody's key: no deletion request would reach it in a database. */
const withSealedEvidence = (attempt: Attempt): Attempt =>
  attempt.evidence?.startsWith('{') === true ? withoutEvidence(attempt) : attempt

/** What is shown of a delivery's attempts. */
interface Shown {
  attempts: number | null
  /** Oldest first. */
  made: Attempt[]
}

export interface LateAttempts {
  /** The delivery with its late attempts, each once. */
  added<Delivery extends Shown>(deliveryId: string, delivery: Delivery): Promise<Delivery>
  /** How many there are of each of these deliveries that has any; some may be known otherwise. */
  count(this: void, deliveryIds: readonly string[]): Promise<Map<string, number>>
}

export const findLateAttempts = ({ database, names }: LateAttemptsDependencies): LateAttempts => ({
  async added(deliveryId, delivery) {
    const late = await readLateAttempts(database, names.workflowIds(deliveryId))
    if (late.length === 0) return delivery
    const made = distinctAttempts([...late, ...delivery.made])
    // Not all that were counted are told of, and late ones may be among those.
    return { ...delivery, made, attempts: Math.max(delivery.attempts ?? 0, made.length) }
  },
  async count(deliveryIds) {
    const idsOf = new Map(deliveryIds.flatMap((id) => names.workflowIds(id).map((workflowId) => [workflowId, id])))
    const counts = await countLateAttempts(database, [...idsOf.keys()])
    return new Map([...counts].map(([workflowId, count]) => [idsOf.get(workflowId) ?? workflowId, count]))
  },
})
