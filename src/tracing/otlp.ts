/** Traces for an OpenTelemetry collector. This module loads OpenTelemetry, so it is imported only where tracing is on. */

import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context, type SpanContext } from '@opentelemetry/api'
import { ExportResultCode, parseKeyPairsIntoRecord, parseTraceParent } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  RandomIdGenerator,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { within } from '../within.ts'
import type { SpanAttributes, Tracing } from './port.ts'

/** How long a stop waits until the collector has what is left, in milliseconds. */
const stopLimitMs = 3_000

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const

export interface OtlpOptions {
  /** Address of the collector; spans go to `/v1/traces` below it. */
  endpoint: string
  /** What requests to it have besides, as `name=value` pairs with commas between them. */
  headers: string
  /** Name of this node, and version of Postrider. */
  node: string
  version: string
  logger: Logger
}

/** Sends spans in the background; the standard variables of OpenTelemetry for resource, sampling, batches and exporter count. */
export function createOtlpTracing({ endpoint, headers, node, version, logger }: OtlpOptions): Tracing {
  const ids = createIds()
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    // Of the environment the exporter reads these itself, but not of a file.
    headers: parseKeyPairsIntoRecord(headers),
  })
  const provider = new BasicTracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({
      'service.name': 'postrider',
      'service.version': version,
      'service.instance.id': node,
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(telling(exporter, logger))],
  })
  const tracer = provider.getTracer('postrider', version)
  return {
    begin({ name, kind, parent, attributes, startedAt, spanId }) {
      ids.next = spanId
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          ...(attributes !== undefined && { attributes: defined(attributes) }),
          ...(startedAt !== undefined && { startTime: startedAt }),
        },
        contextOf(parent),
      )
      return {
        traceparent: traceparentOf(span.spanContext()),
        end(facts, error) {
          if (facts !== undefined) span.setAttributes(defined(facts))
          if (error !== undefined) {
            span.setAttribute('error.type', error)
            span.setStatus({ code: SpanStatusCode.ERROR })
          }
          span.end()
        },
      }
    },
    stop: () => within(stopLimitMs, 'the collector of traces', provider.shutdown()).catch(() => undefined),
  }
}

function contextOf(traceparent: string | undefined): Context {
  const parent = traceparent === undefined ? null : parseTraceParent(traceparent)
  return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true })
}

const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`

const defined = (attributes: SpanAttributes): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(attributes).filter((entry): entry is [string, string | number] => entry[1] !== undefined),
  )

/** Random ids, but for a span whose id is known before. */
function createIds(): RandomIdGenerator & { next: string | undefined } {
  const random = new RandomIdGenerator()
  const ids = {
    next: undefined as string | undefined,
    generateTraceId: () => random.generateTraceId(),
    generateSpanId() {
      const id = ids.next ?? random.generateSpanId()
      ids.next = undefined
      return id
    },
  }
  return ids
}

/** A collector that is away is told once. */
function telling(exporter: SpanExporter, logger: Logger): SpanExporter {
  const failures = createFailureLog(logger, 'trace.not_exported')
  return {
    export: (spans, onResult) =>
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) failures.worked()
        else failures.failed(result.error ?? new Error('the collector did not take them'))
        onResult(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}
