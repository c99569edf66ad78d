/** The span of an event's workflow: the workflow tells it when it ends, and its attempts name it before. */

import { createHash } from 'node:crypto'

/** Id of the span of a workflow. */
export const workflowSpanId = (workflowId: string): string =>
  createHash('sha256').update(workflowId).digest('hex').slice(0, 16)

/** `traceparent` of the span of a workflow.
 *  @param start  that of the span which started it */
export const workflowTraceparent = (start: string, workflowId: string): string =>
  start.replace(/^(00-.{32}-).{16}/, `$1${workflowSpanId(workflowId)}`)
