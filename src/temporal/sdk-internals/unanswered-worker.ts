/** How the SDK tells that Temporal did not answer when a worker was made: in the text of its error. */

import { TransportError } from '@temporalio/worker'

/** What a new worker asks first, and the status that the client makes of no answer. */
const noAnswer = /otherwise could not be described: Status \{ code: (Unavailable|Cancelled|DeadlineExceeded|Unknown)\b/

export const isUnanswered = (error: unknown): boolean => error instanceof TransportError && noAnswer.test(error.message)
