/** The JSON body that endpoints receive: `spec/`, "Delivered message bodies". */

import { z } from 'zod'

/** Call types that sources send. */
export const eventTypes = ['track', 'page', 'screen', 'identify', 'group', 'alias'] as const
/** One of `eventTypes`. */
export const EventTypeSchema = z.enum(eventTypes)
export type EventType = z.infer<typeof EventTypeSchema>

/** Kinds of delivered messages: the call types, and the notification of a deletion. */
export const messageTypes = [...eventTypes, 'delete'] as const
/** One of `messageTypes`. */
export const MessageTypeSchema = z.enum(messageTypes)
export type MessageType = z.infer<typeof MessageTypeSchema>

/** A delivered body: `type` and `timestamp` always, the other members as the type has them. */
export const MessageBodySchema = z.looseObject({
  type: MessageTypeSchema.describe('Type of the call, or `delete`'),
  timestamp: z.string().describe('When it happened, ISO 8601 in UTC, with milliseconds'),
  userId: z.string().optional().describe('User of the event; absent where it has an anonymous one alone'),
})
export type MessageBody = z.infer<typeof MessageBodySchema>
