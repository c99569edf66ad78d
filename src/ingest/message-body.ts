/** The body that endpoints receive, built from what the source sent. */

import type { MessageBody } from '../schemas/message.ts'
import type { JsonObject, SourceEvent } from '../schemas/source-event.ts'

/** The body of the notification that a user is to be deleted: these three members and no other.
 *  @see `spec/`, "Delivered message bodies" (`delete`) */
export const deleteBody = (userId: string, timestamp: Date): MessageBody => ({
  type: 'delete',
  userId,
  timestamp: timestamp.toISOString(),
})

/** The body of a call. Members stand in a fixed order, first those that tell what it is, then its payload; absent ones
 *  are left out. `messageId`, `anonymousId`, `name` and `category` go beyond the tables of `spec/`, so that nothing is
 *  lost and a receiver can recognise a repeat. Not forwarded: `writeKey`, `integrations`, the other times (`sentAt`,
 *  `receivedAt`, `originalTimestamp`) and every top-level member that no call has.
 *  @param time  when it happened, milliseconds since 1970
 *  @param context  the event's merged with its batch's
 *  @see `spec/`, "Delivered message bodies" */
export function messageBody(event: SourceEvent, messageId: string, time: number, context: JsonObject): MessageBody {
  const body: MessageBody = { version: 1, type: event.type, messageId, timestamp: new Date(time).toISOString() }
  if (event.userId !== undefined) body.userId = event.userId
  if (event.anonymousId !== undefined) body['anonymousId'] = event.anonymousId
  if (typeof event.name === 'string') body['name'] = event.name
  if (typeof event.category === 'string') body['category'] = event.category
  addPayload(body, event, context)
  body['context'] = context
  return body
}

function addPayload(body: MessageBody, event: SourceEvent, context: JsonObject): void {
  switch (event.type) {
    case 'track':
      body['event'] = event.event
      body['properties'] = event.properties ?? {}
      break
    case 'page':
      // Some Go clients send a page's properties as its traits.
      body['properties'] = event.traits ? { ...event.traits, ...event.properties } : (event.properties ?? {})
      break
    case 'screen':
      if (event.properties) body['properties'] = event.properties
      break
    case 'identify':
      // Some Python clients send the traits inside the context alone.
      body['traits'] = event.traits ?? objectIn(context, 'traits') ?? {}
      break
    case 'group':
      body['groupId'] = event.groupId
      body['traits'] = event.traits ?? {}
      break
    case 'alias':
      body['Previous ID'] = event.previousId
      body['User ID'] = event.userId
      break
  }
}

function objectIn(context: JsonObject, member: string): object | undefined {
  const value = context[member]
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
}
