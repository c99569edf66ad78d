import type { EventType, MessageType } from '../../../src/schemas/message.ts'

/** All types of calls, in the order in which people choose from them. */
export const eventTypes: EventType[] = ['track', 'page', 'screen', 'identify', 'group', 'alias']

/** All types of events, likewise. */
export const messageTypes: MessageType[] = [...eventTypes, 'delete']
