/** What happens to an event that becomes no delivery: those who watch its source see it, and it is kept for a while. */

import { newTurnedAwayId } from '../ids.ts'
import type { EventType } from '../schemas/message.ts'
import type { TurnedAwayFate } from '../schemas/turned-away.ts'
import { liveEvent } from './live-event.ts'
import type { IngestPort, TurnedAwayReason } from './port.ts'

export interface TurnedAway {
  /** Whatever the caller sent in the place of an event; undefined where it could not be told apart. */
  event: unknown
  /** What its path says it is. */
  type?: EventType | undefined
  fate: TurnedAwayFate
  receivedAt: Date
  /** Why: of a refused one as its caller was told. */
  reason?: TurnedAwayReason
  message?: string
}

/** Shows an event and keeps it.
 *  @param body  what is kept of it */
export function turnAway(port: IngestPort, sourceId: string, turned: TurnedAway, body: unknown = turned.event): void {
  const { event, type, fate, receivedAt, reason, message } = turned
  const live = {
    ...liveEvent(event, fate, receivedAt, reason),
    ...(type !== undefined && { type }),
    turnedAwayId: newTurnedAwayId(),
  }
  port.liveSink?.(sourceId)?.(live)
  port.keepTurnedAway?.({ sourceId, live, message, body })
}
