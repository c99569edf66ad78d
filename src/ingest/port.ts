/** What ingest needs from the rest of the server. */

import type { DeliveryTarget } from '../contracts/delivery.ts'
import type { ErrorCode } from '../errors.ts'
import type { EventFilter, Refusal } from '../filters/filter.ts'
import type { FirstOutcome } from '../schemas/first-outcome.ts'
import type { LiveEvent } from '../schemas/live-event.ts'
import type { MessageBody } from '../schemas/message.ts'
import type { filteredByRules } from '../schemas/turned-away.ts'

/** Name by which the `integrations` object of a call refers to a destination; exact and case-sensitive. */
export type IntegrationName = 'Webhooks'

/** A connected destination that is switched on. */
export interface IngestDestination extends DeliveryTarget {
  integration: IntegrationName
  /** Name for people. */
  name: string
  /** Which events it takes; absent: all. */
  filter?: EventFilter | undefined
}

export interface IngestSource {
  id: string
  enabled: boolean
  /** Connected and switched on; the others are left out. */
  destinations: readonly IngestDestination[]
}

/** A valid event that at least one destination wants. */
export interface AcceptedEvent {
  sourceId: string
  messageId: string
  userId?: string
  /** The JSON body that every endpoint receives. It may share parts with other events of its batch: do not change it. */
  message: MessageBody
  targets: DeliveryTarget[]
  receivedAt: Date
  /** The trace of the request that it came in; absent where tracing is off. */
  traceparent?: string
}

/** What became of an event at the door.
 *  - `accepted`: held durably, on its way to at least one destination
 *  - `no_destination`: valid, but the source has no connected destination that is switched on
 *  - `filtered`: valid, but its `integrations` exclude every destination, or their filters leave it out
 *  - `suppressed`: valid, but its user asked to be forgotten
 *  - `dropped`: answered 200 under lenient auth though its write key is unknown or its source switched off
 *  - `rejected`: refused, with an error for the caller; a request that cannot be read counts as one event */
export type IngestFate = 'accepted' | 'no_destination' | 'filtered' | 'suppressed' | 'dropped' | 'rejected'

/** Why an event became no delivery: code of the error that refused it, or that filters left it out. */
export type TurnedAwayReason = ErrorCode | typeof filteredByRules

/** An event that became no delivery, to be looked at later. */
export interface KeptEvent {
  sourceId: string
  live: LiveEvent & { turnedAwayId: string }
  /** The sentence that the caller got. */
  message: string | undefined
  /** What it held; undefined where that is not known. */
  body: unknown
}

export interface IngestPort {
  /** The source of a write key, from memory. */
  findSource(writeKey: string): IngestSource | undefined
  /** Resolves when all events are held durably.
   *  @throws AppError `inbox_full` or `unavailable` when nothing can hold them; the caller gets 429 or 503 */
  accept(events: AcceptedEvent[]): Promise<void>
  /** Counts `events` events.
   *  @param sourceId  `undefined` when the source is not known
   *  @param reason  set with `rejected` and `dropped`, and with `filtered` where filters had a part in it */
  count(fate: IngestFate, sourceId: string | undefined, events: number, reason?: TurnedAwayReason): void
  /** Counts an event that a destination's filter left out, whether or not other destinations take it.
   *  @param by  the part of the filter that it did not fit */
  countLeftOut?(destinationId: string, by: Refusal['by']): void
  /** Whether events of this user are to be dropped at the door, after a deletion request with `suppress`. */
  isSuppressed?(sourceId: string, userId: string): boolean
  /** Keeps an event that became no delivery; costs the others nothing. */
  keepTurnedAway?(event: KeptEvent): void
  /** Resolves when what this node kept so far can be looked at. */
  turnedAwayWritten?(): Promise<void>
  /** Shows each event of a source, with what became of it, to those who watch the source; undefined while nobody does. */
  liveSink?(sourceId: string): ((event: LiveEvent) => void) | undefined
  /** Waits, `limitMs` milliseconds at most, for what the first attempt of a delivery becomes; undefined where that is not known. */
  firstOutcome?(deliveryId: string, limitMs: number, gone: AbortSignal): Promise<FirstOutcome | undefined>
}
