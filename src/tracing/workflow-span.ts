/** The span of an event's delivery by its workflow: the workflow tells it when it ends, and the event's attempts name it before. */

import { createHash } from 'node:crypto'

/** Id of the span.
 *  @param place  of the event in its parcel; absent or empty in a workflow of its own */
export const workflowSpanId = (workflowId: string, place: number | string = ''): string =>
  createHash('sha256')
    .update(place === '' ? workflowId : `${workflowId}/${place}`)
    .digest('hex')
    .slice(0, 16)

/** `traceparent` of the span.
 *  @param start  that of the span which started the workflow
 *  @param place  of the event in its parcel; empty in a workflow of its own */
export const workflowTraceparent = (start: string, workflowId: string, place: string): string =>
  start.replace(/^(00-.{32}-).{16}/, `$1${workflowSpanId(workflowId, place)}`)
