/** Keeps events that became no delivery: gathered in memory, within bounds, and written in groups. */

import type { Database } from '../db/database.ts'
import { addTurnedAway, removeSurplus, removeTurnedAwayBefore } from '../db/turned-away.ts'
import { createFailureLog } from '../failure-log.ts'
import { writeGathered } from '../gathered-writes.ts'
import type { KeptEvent } from '../ingest/port.ts'
import type { Logger } from '../logger.ts'
import { TurnedAwayFateSchema, type TurnedAwayDetail } from '../schemas/turned-away.ts'

const writePauseMs = 1_000

/** Events that wait to be written, of one source and of all: of more, the newest of each source stay. */
const maxWaitingOfSource = 200
const maxWaiting = 1_000

/** Longest body that is kept, in characters of JSON; of a longer one its beginning. */
export const maxBodyLength = 32_768

/** How long they are kept: 24 hours. */
const keepMs = 24 * 3_600_000

/** So many events of a source, or so long a pause, are followed by a removal of what is too much or too old. */
const removeAfter = 1_000
const removePauseMs = 60_000

export interface TurnedAwayEvents {
  keep: (event: KeptEvent) => void
  /** Resolves when what this node kept so far is written. */
  written: () => Promise<void>
  /** Writes what waits. */
  stop(): Promise<void>
}

export function keepTurnedAway(database: Database, logger: Logger): TurnedAwayEvents {
  const failures = createFailureLog(logger, 'event.turned_away_not_written')
  let waiting = new Map<string, KeptEvent[]>()
  let count = 0
  const sinceRemoval = new Map<string, number>()
  let removedAt = -Infinity

  const write = async (): Promise<void> => {
    const events = [...waiting.values()].flat().map(toDetail)
    waiting = new Map()
    count = 0
    try {
      if (events.length > 0) await addTurnedAway(database, events)
      for (const { sourceId } of events) sinceRemoval.set(sourceId, (sinceRemoval.get(sourceId) ?? 0) + 1)
      await remove()
      failures.worked()
    } catch (error) {
      failures.failed(error)
    }
  }

  const remove = async (): Promise<void> => {
    const isDue = performance.now() - removedAt > removePauseMs
    const full = [...sinceRemoval].filter(([, events]) => isDue || events >= removeAfter).map(([sourceId]) => sourceId)
    if (full.length > 0) await removeSurplus(database.patient, full)
    for (const sourceId of full) sinceRemoval.delete(sourceId)
    if (!isDue) return
    await removeTurnedAwayBefore(database.patient, new Date(Date.now() - keepMs))
    removedAt = performance.now()
  }

  const writes = writeGathered(write, writePauseMs)
  return {
    keep(event) {
      const ofSource = waiting.get(event.sourceId) ?? []
      if (ofSource.length >= maxWaitingOfSource) ofSource.shift()
      else if (count >= maxWaiting) return
      else count++
      ofSource.push(event)
      waiting.set(event.sourceId, ofSource)
    },
    written: writes.written,
    async stop() {
      await writes.written()
      await writes.end()
    },
  }
}

function toDetail({ sourceId, live, message, body }: KeptEvent): TurnedAwayDetail {
  return {
    id: live.turnedAwayId,
    at: live.at,
    sourceId,
    fate: TurnedAwayFateSchema.parse(live.fate),
    reason: live.reason ?? null,
    message: message ?? null,
    type: storable(live.type),
    event: storable(live.event),
    userId: storable(live.userId),
    messageId: storable(live.messageId),
    body: body === undefined ? null : storable(JSON.stringify(body, withoutKeys).slice(0, maxBodyLength)),
  }
}

/** Write keys are for senders alone. */
const withoutKeys = (name: string, value: unknown): unknown => (name === 'writeKey' ? undefined : value)

/** A caller's text as a database can hold it: without NUL, and without half a character. */
const storable = (text: string | null): string | null => text && text.replaceAll('\0', '').toWellFormed()
