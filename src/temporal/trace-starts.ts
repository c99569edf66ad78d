/** Spans of the starts of workflows, whoever makes them. */

import { WorkflowExecutionAlreadyStartedError, type WorkflowClientInterceptor } from '@temporalio/client'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { Tracing } from '../tracing/port.ts'

/** The start of an event's delivery is a span of the event's trace, and the delivery a part of it. */
export const traceStarts = (tracing: Tracing): WorkflowClientInterceptor => ({
  async startWithDetails(input, next) {
    const [event] = input.options.args as [Partial<DeliverEventInput>?]
    if (event?.traceparent === undefined) return next(input)
    const span = tracing.begin({
      name: `StartWorkflow:${input.workflowType}`,
      kind: 'client',
      parent: event.traceparent,
      attributes: { 'postrider.source_id': event.sourceId },
    })
    const args = [{ ...event, traceparent: span.traceparent }]
    try {
      const started = await next({ ...input, options: { ...input.options, args } })
      span.end({ temporalRunId: started.runId })
      return started
    } catch (error) {
      const isDuplicate = error instanceof WorkflowExecutionAlreadyStartedError
      span.end(
        { 'postrider.start': isDuplicate ? 'duplicate' : 'not_started' },
        isDuplicate ? undefined : 'not_started',
      )
      throw error
    }
  },
})
