/** The bodies that endpoints receive. */

import type { MessageBody } from '../schemas/message.ts'

/** Compact JSON: what a receiver gets again when it serializes its parsed body, so that its digest fits ours. It has no
 *  lone surrogates, so that its UTF-8 bytes are the same wherever they are made.
 *  @see spec/, "Authentication" */
export const encodeBody = (message: MessageBody): string => JSON.stringify(message)
