/** Tells the traces of events how their deliveries ended. Nothing of it stands in the history. */

import { proxySinks, type Sinks } from '@temporalio/workflow'

export interface EndOfDelivery {
  /** Of the span that started the workflow. */
  traceparent: string
  /** What the delivery came to. */
  outcome: string
  /** Place of the event in its parcel; absent in a workflow of its own. */
  place?: number
}

export interface TracingSinks extends Sinks {
  tracing: {
    ended(end: EndOfDelivery): void
  }
}

const { tracing } = proxySinks<TracingSinks>()

/** Tells the end of a delivery whose event has a trace. */
export function traceEnd({ traceparent }: { traceparent?: string }, outcome: string, place?: number): void {
  if (traceparent !== undefined) tracing.ended({ traceparent, outcome, ...(place !== undefined && { place }) })
}
