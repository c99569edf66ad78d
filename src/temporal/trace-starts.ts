/** Spans of the starts of workflows, whoever makes them. */

import { WorkflowExecutionAlreadyStartedError, type WorkflowClientInterceptor } from '@temporalio/client'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { DeliverParcelInput } from '../contracts/parcels.ts'
import type { TraceSpan, Tracing } from '../tracing/port.ts'

type TracedEvent = Pick<Partial<DeliverEventInput>, 'sourceId' | 'traceparent'>

/** The start of an event's delivery is a span of the event's trace, and the delivery a part of it; so for each event of a parcel. */
export const traceStarts = (tracing: Tracing): WorkflowClientInterceptor => ({
  async startWithDetails(input, next) {
    const [arg] = input.options.args as [(Partial<DeliverEventInput> & Partial<DeliverParcelInput>)?]
    const spans: TraceSpan[] = []
    const traced = <Event extends TracedEvent>(event: Event): Event => {
      if (event.traceparent === undefined) return event
      const span = tracing.begin({
        name: `StartWorkflow:${input.workflowType}`,
        kind: 'client',
        parent: event.traceparent,
        attributes: { 'postrider.source_id': event.sourceId },
      })
      spans.push(span)
      return { ...event, traceparent: span.traceparent }
    }
    const args = arg === undefined ? [] : [{ ...traced(arg), ...(arg.events && { events: arg.events.map(traced) }) }]
    if (spans.length === 0) return next(input)
    try {
      const started = await next({ ...input, options: { ...input.options, args } })
      for (const span of spans) span.end({ temporalRunId: started.runId })
      return started
    } catch (error) {
      const isDuplicate = error instanceof WorkflowExecutionAlreadyStartedError
      for (const span of spans)
        span.end(
          { 'postrider.start': isDuplicate ? 'duplicate' : 'not_started' },
          isDuplicate ? undefined : 'not_started',
        )
      throw error
    }
  },
})
