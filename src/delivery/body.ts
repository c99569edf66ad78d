/** The bytes that endpoints receive. */

import type { MessageBody } from '../schemas/message.ts'

/** Compact JSON in UTF-8: what a receiver gets again when it serializes its parsed body, so that its digest fits ours.
 *  @see spec/, "Authentication" */
export const encodeBody = (message: MessageBody): Buffer => Buffer.from(JSON.stringify(message), 'utf8')
