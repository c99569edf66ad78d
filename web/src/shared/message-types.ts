import type { MessageType } from '../../../src/schemas/message.ts'

/** All types of events, in the order in which people choose from them. */
export const messageTypes: MessageType[] = ['track', 'page', 'screen', 'identify', 'group', 'alias', 'delete']
