/** What became of events: counters for Prometheus, and per source and minute for the overview, written in groups; beside them
 *  the events themselves that became no delivery. */

import { Counter, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { addEventCounts, removeOldEventCounts, type EventCount } from '../db/event-counts.ts'
import { createFailureLog } from '../failure-log.ts'
import { writeGathered } from '../gathered-writes.ts'
import type { IngestFate, IngestPort } from '../ingest/port.ts'
import type { Logger } from '../logger.ts'
import { countLeftOut } from './count-left-out.ts'
import { keepTurnedAway, type TurnedAwayEvents } from './turned-away.ts'

/** What became of an accepted event on its way to Temporal. `out_of_order`: it started before others of its user had ended. */
export type IntakeFate = 'started' | 'duplicate' | 'inboxed' | 'out_of_order'

export type IntakeCounter = (fate: IntakeFate, sourceId: string, events: number) => void

const writePauseMs = 2_000

/** Counters that wait to be written; more mean that the database is away, and are only in Prometheus. */
const maxWaiting = 10_000

/** How long the counts per minute are kept: 31 days. */
const keepMs = 31 * 24 * 3_600_000
const removePauseMs = 3_600_000

export interface EventLedger {
  count: (fate: IngestFate | IntakeFate, sourceId: string | undefined, events: number, reason?: string) => void
  countLeftOut: NonNullable<IngestPort['countLeftOut']>
  turnedAway: Pick<TurnedAwayEvents, 'keep' | 'written'>
  /** Writes what waits. */
  stop(): Promise<void>
}

export function createEventLedger(database: Database, registry: Registry, logger: Logger): EventLedger {
  const counter = new Counter({
    name: 'postrider_events_total',
    help: 'Events by what became of them: rejected ones with the reason',
    labelNames: ['fate', 'reason'],
    registers: [registry],
  })
  // There from the start: the first one would be no increase otherwise, and no alert.
  counter.inc({ fate: 'rejected', reason: 'inbox_full' }, 0)
  const turnedAway = keepTurnedAway(database, logger)
  let waiting = new Map<string, EventCount>()
  let removedAt = -Infinity
  const failures = createFailureLog(logger, 'event.counts_not_written')

  const write = async (): Promise<void> => {
    const batch = waiting
    waiting = new Map()
    try {
      if (batch.size > 0) await addEventCounts(database, [...batch.values()])
      if (performance.now() - removedAt > removePauseMs) {
        await removeOldEventCounts(database.patient, new Date(Date.now() - keepMs))
        removedAt = performance.now()
      }
      failures.worked()
    } catch (error) {
      failures.failed(error)
      for (const one of batch.values()) add(one)
    }
  }

  const add = (one: EventCount): void => {
    const key = [one.minute.getTime(), one.sourceId, one.fate, one.reason].join(' ')
    const before = waiting.get(key)
    if (before !== undefined) before.events += one.events
    else if (waiting.size < maxWaiting) waiting.set(key, one)
  }

  const writes = writeGathered(write, writePauseMs)
  return {
    count(fate, sourceId, events, reason = '') {
      counter.inc({ fate, reason }, events)
      const minute = new Date(Math.floor(Date.now() / 60_000) * 60_000)
      add({ minute, sourceId: sourceId ?? '', fate, reason, events })
    },
    countLeftOut: countLeftOut(registry),
    turnedAway,
    async stop() {
      await Promise.all([turnedAway.stop(), writes.written()])
      await writes.end()
    },
  }
}
