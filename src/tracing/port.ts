/** What the parts of a node need to tell a trace of what they do. There is none where tracing is off. */

/** Facts of a span by their names in OpenTelemetry's conventions; those that are undefined are left out. */
export type SpanAttributes = Record<string, string | number | undefined>

export interface SpanStart {
  name: string
  kind: 'server' | 'client' | 'internal'
  /** `traceparent` of the span that it is part of; absent or malformed: it begins a trace. */
  parent?: string | undefined
  attributes?: SpanAttributes
  /** When it began, in milliseconds since 1970; unless given, now. */
  startedAt?: number
  /** Its id, where others must know it before it is told; 16 hexadecimal digits. */
  spanId?: string
}

export interface TraceSpan {
  /** What makes others a part of it. */
  traceparent: string
  /** @param error  what went wrong, in one word; absent: nothing */
  end(attributes?: SpanAttributes, error?: string): void
}

export interface Tracing {
  /** Begins a span. It costs no wait: it is sent later, together with others, or dropped when too many wait. */
  begin(start: SpanStart): TraceSpan
  /** Sends what waits, within a bound. */
  stop(): Promise<void>
}
