/** Spans of the workflows of events. */

import type { InjectedSinks } from '@temporalio/worker'
import { workflowSpanId } from '../tracing/workflow-span.ts'
import type { Tracing } from '../tracing/port.ts'
import type { TracingSinks } from '../../workflows/tracing.ts'

/** Takes what workflows tell when they end. Without tracing it takes it all the same: the event may come from a node that has it.
 *  @param tracing  undefined: off */
export const traceWorkflows = (tracing: Tracing | undefined): InjectedSinks<TracingSinks> => ({
  tracing: {
    ended: {
      fn({ workflowId, workflowType, runId, startTime }, { traceparent, outcome, place }) {
        tracing
          ?.begin({
            name: `RunWorkflow:${workflowType}`,
            kind: 'internal',
            parent: traceparent,
            startedAt: startTime.getTime(),
            spanId: workflowSpanId(workflowId, place),
          })
          .end({ temporalRunId: runId, 'postrider.outcome': outcome }, outcome === 'failed' ? outcome : undefined)
      },
    },
  },
})
