/** Spans of attempts, and of the requests that they are. */

import { Context } from '@temporalio/activity'
import type { AttemptInput } from '../src/contracts/delivery.ts'
import type { SendOutcome } from '../src/delivery/outcome.ts'
import { optionsOf, type DifferingOptions } from '../src/schemas/endpoint-options.ts'
import type { Tracing } from '../src/tracing/port.ts'
import { workflowTraceparent } from '../src/tracing/workflow-span.ts'

export interface AttemptTrace {
  /** What the request carries. */
  traceparent: string
  end(outcome: SendOutcome): void
}

interface TracedEndpoint extends DifferingOptions {
  url: string
}

/** Begins the spans of an attempt, of which the request goes out now. The endpoint is known by host and port: paths and queries of
 *  webhooks hold secrets.
 *  @param event  names the event among those of its workflow
 *  @param endpoint  where the request goes, and how
 *  @param begunAt  when its turn began, in milliseconds since 1970
 *  @returns undefined when tracing is off, or was when the event came in */
export function traceAttempt(
  tracing: Tracing | undefined,
  { sourceId, destinationId, endpointId, traceparent }: AttemptInput,
  { event, endpoint, number, begunAt }: { event: string; endpoint: TracedEndpoint; number: number; begunAt: number },
): AttemptTrace | undefined {
  if (tracing === undefined || traceparent === undefined) return undefined
  const { workflowExecution, activityType } = Context.current().info
  const { workflowId = '', runId } = workflowExecution ?? {}
  const attempt = tracing.begin({
    name: `RunActivity:${activityType}`,
    kind: 'internal',
    parent: workflowTraceparent(traceparent, workflowId, event),
    startedAt: begunAt,
    attributes: {
      temporalRunId: runId,
      'postrider.source_id': sourceId,
      'postrider.destination_id': destinationId,
      'postrider.endpoint_id': endpointId,
      'postrider.attempt': number,
    },
  })
  const { hostname, port, protocol } = new URL(endpoint.url)
  const { method } = optionsOf(endpoint)
  const request = tracing.begin({
    name: method,
    kind: 'client',
    parent: attempt.traceparent,
    attributes: {
      'http.request.method': method,
      'http.request.resend_count': number > 1 ? number - 1 : undefined,
      'server.address': hostname,
      'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
      'url.scheme': protocol.slice(0, -1),
    },
  })
  return {
    traceparent: request.traceparent,
    end(outcome) {
      const { kind, status } = outcome
      const error = kind === 'delivered' ? undefined : String(status ?? outcome.code)
      request.end({ 'http.response.status_code': status }, error)
      attempt.end({ 'postrider.outcome': kind }, error)
    },
  }
}
