/** Messages as Temporal has them: sealed with the data keys of the users that they speak of. */

import type { MessageBody, MessageType } from '../schemas/message.ts'

/** A message of which everything but its type is sealed. */
export interface SealedMessage {
  /** Type of the call, or `delete`. */
  type: MessageType
  /** A `MessageContent`, sealed. */
  sealed: string
}

/** What is sealed of an event. */
export interface MessageContent {
  /** Message id of the event. */
  messageId: string
  /** The JSON body that every endpoint receives. */
  message: MessageBody
}

/** A message that is open, and how more of the same event is kept. */
export interface OpenMessage {
  /** What was sealed of it. */
  content: MessageContent
  /** Seals the JSON of something with the keys of the event's users; leaves it as it is where there are none. */
  sealJson: (json: string) => string
}

/** A message as Temporal has it: in clear where it speaks of no user, and where an earlier version started its delivery. */
export type HeldMessage = MessageBody | SealedMessage

/** A message in clear always has its time. */
export const isSealedMessage = (message: HeldMessage): message is SealedMessage =>
  'sealed' in message && !('timestamp' in message)
