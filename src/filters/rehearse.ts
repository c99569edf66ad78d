/** A filter, tried on events that are recorded. */

import type { MessageBody } from '../schemas/message.ts'
import { maxShown, type Rehearsal, type RehearsedEvent, type RehearsedOutcome } from '../schemas/rehearsal.ts'
import type { EventFilter } from './filter.ts'

/** An event that came in, whatever became of it. */
export interface RecordedEvent {
  sourceId: string
  messageId: string
  /** When it came, ISO 8601. */
  at: string
  /** The body that endpoints got, or would have got. */
  message: MessageBody
}

/** @param events  newest first
 *  @param filter  undefined: none */
export function rehearse(events: readonly RecordedEvent[], filter: EventFilter | undefined): Rehearsal {
  const all = events.map((event) => tryOn(event, filter))
  const of = (outcome: RehearsedOutcome): RehearsedEvent[] => all.filter((one) => one.outcome === outcome)
  const shown = new Set([...of('sent').slice(0, maxShown), ...of('dropped').slice(0, maxShown)])
  return {
    tried: all.length,
    since: events.at(-1)?.at ?? null,
    sent: of('sent').length,
    dropped: of('dropped').length,
    items: all.filter((event) => shown.has(event)),
  }
}

function tryOn({ message, ...event }: RecordedEvent, filter: EventFilter | undefined): RehearsedEvent {
  const refusal = filter?.(message)
  return refusal === undefined
    ? { ...event, outcome: 'sent', reason: null, before: message, after: message }
    : { ...event, outcome: 'dropped', reason: refusal.words, before: message, after: null }
}
