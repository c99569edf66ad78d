/** From valid events to the bodies that endpoints receive, handed to what holds them durably. */

import { randomUUID } from 'node:crypto'
import type { DeliveryTarget } from '../contracts/delivery.ts'
import type { JsonObject, SourceEvent } from '../schemas/source-event.ts'
import { eventTime } from './event-time.ts'
import { isIntegrationOn } from './integrations.ts'
import { acceptedLive } from './live-event.ts'
import { messageBody } from './message-body.ts'
import type { AcceptedEvent, IngestFate, IngestPort, IngestSource } from './port.ts'
import { turnAway } from './turn-away.ts'

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
}

/** Hands the events that some destination wants to the port, and counts what becomes of each.
 *  @returns the message ids of all events, made where the caller sent none
 *  @throws what the port's `accept` throws */
export async function takeEvents(
  port: IngestPort,
  source: IngestSource,
  events: SourceEvent[],
  shared: SharedMembers,
  arrival: Arrival,
): Promise<string[]> {
  const show = port.liveSink?.(source.id)
  const messageIds: string[] = []
  const accepted: AcceptedEvent[] = []
  for (const event of events) {
    const messageId = event.messageId ?? randomUUID()
    messageIds.push(messageId)
    const { fate, targets } = route(port, source, event, shared)
    const taken = (): AcceptedEvent => acceptedEvent(source.id, event, messageId, targets, shared, arrival)
    if (fate === 'accepted') accepted.push(taken())
    else {
      port.count(fate, source.id, 1)
      const { receivedAt } = arrival
      // Of a user who asked to be forgotten nothing is kept but that there was an event.
      if (fate === 'suppressed') turnAway(port, source.id, { event: withoutUser(event, messageId), fate, receivedAt })
      else turnAway(port, source.id, { event: { ...event, messageId }, fate, receivedAt }, taken().message)
    }
  }
  if (accepted.length > 0) {
    await port.accept(accepted)
    port.count('accepted', source.id, accepted.length)
    if (show !== undefined) accepted.map(acceptedLive).forEach(show)
  }
  return messageIds
}

interface Route {
  fate: Exclude<IngestFate, 'dropped' | 'rejected'>
  targets: DeliveryTarget[]
}

const withoutUser = ({ type, event, name }: SourceEvent, messageId: string) => ({ type, event, name, messageId })

/** Whether an event speaks of a user that no event may be sent of any more; an alias speaks of two. */
const namesSuppressed = (port: IngestPort, source: IngestSource, { userId, previousId }: SourceEvent): boolean =>
  [userId, previousId].some((id) => id !== undefined && port.isSuppressed?.(source.id, id) === true)

/** Where an event goes, or why nowhere. */
function route(port: IngestPort, source: IngestSource, event: SourceEvent, shared: SharedMembers): Route {
  if (namesSuppressed(port, source, event)) return { fate: 'suppressed', targets: [] }
  const targets = source.destinations
    .filter(({ integration }) => isIntegrationOn(integration, event.integrations, shared.integrations))
    .map(({ destinationId, endpointIds, successPolicy }) => ({ destinationId, endpointIds, successPolicy }))
  if (targets.length > 0) return { fate: 'accepted', targets }
  return { fate: source.destinations.length === 0 ? 'no_destination' : 'filtered', targets }
}

function acceptedEvent(
  sourceId: string,
  event: SourceEvent,
  messageId: string,
  targets: DeliveryTarget[],
  shared: SharedMembers,
  arrival: Arrival,
): AcceptedEvent {
  const timestamp = event.timestamp ?? event.originalTimestamp
  const time = eventTime(timestamp, event.sentAt ?? shared.sentAt, arrival.receivedAt.getTime())
  return {
    sourceId,
    messageId,
    ...(event.userId === undefined ? {} : { userId: event.userId }),
    message: messageBody(event, messageId, time, contextOf(event, shared, arrival)),
    targets,
    receivedAt: arrival.receivedAt,
  }
}

/** The batch's context with the event's own members over it; `ip` is filled in for browsers and on request. */
function contextOf(event: SourceEvent, shared: SharedMembers, arrival: Arrival): JsonObject {
  const context =
    event.context && shared.context ? { ...shared.context, ...event.context } : (event.context ?? shared.context ?? {})
  const wantsIp = (arrival.fromBrowser || context['direct'] === true) && !Object.hasOwn(context, 'ip')
  return wantsIp ? { ...context, ip: arrival.ip() } : context
}
