/** A filter and a mapping, tried on events that are recorded. */

import type { EventFilter } from '../filters/filter.ts'
import type { EventMapping } from '../mapping/mapping.ts'
import type { MessageBody } from '../schemas/message.ts'
import {
  maxShown,
  RehearsedOutcomeSchema,
  type Rehearsal,
  type RehearsedEvent,
  type RehearsedOutcome,
} from '../schemas/rehearsal.ts'

/** An event that came in, whatever became of it. */
export interface RecordedEvent {
  sourceId: string
  messageId: string
  /** When it came, ISO 8601. */
  at: string
  /** The body that endpoints got, or would have got, without a mapping. */
  message: MessageBody
}

/** What is tried. */
export interface Draft {
  /** Undefined: none. */
  filter: EventFilter | undefined
  /** Undefined: none. */
  mapping: EventMapping | undefined
}

/** @param events  newest first */
export async function rehearse(events: readonly RecordedEvent[], draft: Draft): Promise<Rehearsal> {
  const all = await Promise.all(events.map((event) => tryOn(event, draft)))
  const of = (outcome: RehearsedOutcome): RehearsedEvent[] => all.filter((one) => one.outcome === outcome)
  const outcomes = RehearsedOutcomeSchema.options.map(of)
  const shown = new Set(outcomes.flatMap((those) => those.slice(0, maxShown)))
  const changed = of('changed').length
  return {
    tried: all.length,
    since: events.at(-1)?.at ?? null,
    sent: of('sent').length + changed,
    changed,
    dropped: of('dropped').length,
    failed: of('failed').length,
    items: all.filter((event) => shown.has(event)),
  }
}

async function tryOn({ message, ...event }: RecordedEvent, { filter, mapping }: Draft): Promise<RehearsedEvent> {
  const told = { ...event, before: message }
  const refusal = filter?.(message)
  if (refusal !== undefined) return { ...told, outcome: 'dropped', reason: refusal.words, after: null }
  const mapped = await mapping?.(message)
  if (mapped === undefined) return { ...told, outcome: 'sent', reason: null, after: message }
  if (mapped.kind === 'failed') return { ...told, outcome: 'failed', reason: mapped.reason, after: null }
  const outcome = mapped.body === JSON.stringify(message) ? 'sent' : 'changed'
  return { ...told, outcome, reason: null, after: JSON.parse(mapped.body) as Record<string, unknown> }
}
