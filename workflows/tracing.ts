/** Tells the trace of an event how its workflow ended. Nothing of it stands in the history. */

import { proxySinks, type Sinks } from '@temporalio/workflow'
import type { DeliverEventInput } from '../src/contracts/delivery.ts'

export interface TracingSinks extends Sinks {
  tracing: {
    ended(end: { traceparent: string; outcome: string }): void
  }
}

const { tracing } = proxySinks<TracingSinks>()

/** Tells the end of a workflow whose event has a trace. */
export function traceEnd({ traceparent }: DeliverEventInput, outcome: string): void {
  if (traceparent !== undefined) tracing.ended({ traceparent, outcome })
}
