/** From valid events to the bodies that endpoints receive, handed to what holds them durably. */

import { randomUUID } from 'node:crypto'
import type { JsonObject, SourceEvent } from '../schemas/source-event.ts'
import { filteredByRules } from '../schemas/turned-away.ts'
import { chooseTargets, wordsOfLeftOut, type Choice } from './choose-targets.ts'
import { eventTime } from './event-time.ts'
import { acceptedLive } from './live-event.ts'
import { messageBody } from './message-body.ts'
import type { AcceptedEvent, IngestPort, IngestSource } from './port.ts'
import { turnAway, type TurnedAway } from './turn-away.ts'

export interface Taken {
  /** Of all events, in their order; made where the caller sent none. */
  messageIds: string[]
  /** What became of those that became no delivery. */
  turnedAway: ('filtered' | 'no_destination' | 'suppressed')[]
}

/** What the events of a batch share. */
export interface SharedMembers {
  context?: JsonObject | null | undefined
  integrations?: JsonObject | null | undefined
  /** Milliseconds since 1970. */
  sentAt?: number | undefined
}

/** How the events came in. */
export interface Arrival {
  receivedAt: Date
  fromBrowser: boolean
  ip: () => string
  /** The trace of the request; absent where tracing is off. */
  traceparent?: string | undefined
}

/** Hands the events that some destination wants to the port, and counts what becomes of each.
 *  @throws what the port's `accept` throws */
export async function takeEvents(
  port: IngestPort,
  source: IngestSource,
  events: SourceEvent[],
  shared: SharedMembers,
  arrival: Arrival,
): Promise<Taken> {
  const show = port.liveSink?.(source.id)
  const { receivedAt } = arrival
  const { messageIds, turnedAway }: Taken = { messageIds: [], turnedAway: [] }
  const accepted: AcceptedEvent[] = []
  for (const event of events) {
    const messageId = event.messageId ?? randomUUID()
    messageIds.push(messageId)
    if (namesSuppressed(port, source, event)) {
      port.count('suppressed', source.id, 1)
      turnedAway.push('suppressed')
      // Of a user who asked to be forgotten nothing is kept but that there was an event.
      turnAway(port, source.id, { event: withoutUser(event, messageId), fate: 'suppressed', receivedAt })
      continue
    }
    const taken = acceptedEvent(source.id, event, messageId, shared, arrival)
    const choice = chooseTargets(source.destinations, taken.message, event.integrations, shared.integrations)
    for (const { destinationId, by } of choice.leftOut) port.countLeftOut?.(destinationId, by)
    if (choice.targets.length > 0) accepted.push({ ...taken, targets: choice.targets })
    else turnedAway.push(turnNobodyTook(port, source, { ...event, messageId }, choice, taken))
  }
  if (accepted.length > 0) {
    await port.accept(accepted)
    port.count('accepted', source.id, accepted.length)
    if (show !== undefined) accepted.map(acceptedLive).forEach(show)
  }
  return { messageIds, turnedAway }
}

const withoutUser = ({ type, event, name }: SourceEvent, messageId: string) => ({ type, event, name, messageId })

/** Whether an event speaks of a user that no event may be sent of any more; an alias speaks of two. */
const namesSuppressed = (port: IngestPort, source: IngestSource, { userId, previousId }: SourceEvent): boolean =>
  [userId, previousId].some((id) => id !== undefined && port.isSuppressed?.(source.id, id) === true)

/** Counts and keeps an event that no destination takes, with the reason.
 *  @returns what became of it */
function turnNobodyTook(
  port: IngestPort,
  source: IngestSource,
  event: SourceEvent,
  { leftOut }: Choice,
  { message: body, receivedAt }: Omit<AcceptedEvent, 'targets'>,
): 'filtered' | 'no_destination' {
  const fate = source.destinations.length === 0 ? 'no_destination' : 'filtered'
  const message = wordsOfLeftOut(leftOut)
  const why: Pick<TurnedAway, 'reason' | 'message'> = message === undefined ? {} : { reason: filteredByRules, message }
  port.count(fate, source.id, 1, why.reason)
  turnAway(port, source.id, { event, fate, receivedAt, ...why }, body)
  return fate
}

function acceptedEvent(
  sourceId: string,
  event: SourceEvent,
  messageId: string,
  shared: SharedMembers,
  arrival: Arrival,
): Omit<AcceptedEvent, 'targets'> {
  const timestamp = event.timestamp ?? event.originalTimestamp
  const time = eventTime(timestamp, event.sentAt ?? shared.sentAt, arrival.receivedAt.getTime())
  return {
    sourceId,
    messageId,
    ...(event.userId === undefined ? {} : { userId: event.userId }),
    message: messageBody(event, messageId, time, contextOf(event, shared, arrival)),
    receivedAt: arrival.receivedAt,
    ...(arrival.traceparent === undefined ? {} : { traceparent: arrival.traceparent }),
  }
}

/** The batch's context with the event's own members over it; `ip` is filled in for browsers and on request. */
function contextOf(event: SourceEvent, shared: SharedMembers, arrival: Arrival): JsonObject {
  const context =
    event.context && shared.context ? { ...shared.context, ...event.context } : (event.context ?? shared.context ?? {})
  const wantsIp = (arrival.fromBrowser || context['direct'] === true) && !Object.hasOwn(context, 'ip')
  return wantsIp ? { ...context, ip: arrival.ip() } : context
}
