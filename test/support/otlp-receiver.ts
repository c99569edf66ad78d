/** A collector of traces: a real HTTP server that decodes what OpenTelemetry's exporter sends, with the published schema. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

const ValueSchema = z.object({ stringValue: z.string().optional(), intValue: z.coerce.number().optional() })
const SpanSchema = z.object({
  traceId: z.string().transform((text) => Buffer.from(text, 'base64').toString('hex')),
  spanId: z.string().transform((text) => Buffer.from(text, 'base64').toString('hex')),
  parentSpanId: z
    .string()
    .default('')
    .transform((text) => Buffer.from(text, 'base64').toString('hex')),
  name: z.string(),
  kind: z.string(),
  startTimeUnixNano: z.coerce.bigint(),
  endTimeUnixNano: z.coerce.bigint(),
  attributes: z
    .array(z.object({ key: z.string(), value: ValueSchema }))
    .default([])
    .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))),
  status: z.object({ code: z.string().default('STATUS_CODE_UNSET') }).optional(),
})
const RequestSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(z.object({ key: z.string(), value: ValueSchema })) }),
      scopeSpans: z.array(z.object({ spans: z.array(SpanSchema) })),
    }),
  ),
})
export type ReceivedSpan = z.infer<typeof SpanSchema>

interface MessageType {
  decode(bytes: Uint8Array): object
  toObject(message: object, options: object): unknown
}
const schema = createRequire(import.meta.url)('otlp-schema/build/src/generated/root') as {
  opentelemetry: { proto: { collector: { trace: { v1: { ExportTraceServiceRequest: MessageType } } } } }
}
const { ExportTraceServiceRequest } = schema.opentelemetry.proto.collector.trace.v1

export interface OtlpReceiver extends AsyncDisposable {
  url: string
  spans: ReceivedSpan[]
  /** Text of all that came, to look for what must not be there. */
  text(): string
  /** Paths and content types of the requests. */
  requests: string[]
  /** Who sent each of them, as its header says. */
  authorizations: (string | undefined)[]
  /** Attributes of the resource that sent the newest spans. */
  resource: Record<string, string | number | undefined>
  /** No further request gets an answer. */
  hang(): void
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const bodies: Buffer[] = []
  const authorizations: (string | undefined)[] = []
  let isHanging = false
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    receiver.requests.push(`${request.method} ${request.url} ${request.headers['content-type']}`)
    authorizations.push(request.headers.authorization)
    if (isHanging) return
    const body = Buffer.concat(chunks)
    bodies.push(body)
    const plain = ExportTraceServiceRequest.toObject(ExportTraceServiceRequest.decode(body), {
      bytes: String,
      longs: String,
      enums: String,
    })
    for (const { resource, scopeSpans } of RequestSchema.parse(plain).resourceSpans) {
      receiver.resource = Object.fromEntries(
        resource.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
      )
      receiver.spans.push(...scopeSpans.flatMap(({ spans }) => spans))
    }
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  }
  const server = createServer((request, response) => {
    take(request, response).catch((error: Error) => response.writeHead(500).end(error.message))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    requests: [],
    authorizations,
    resource: {},
    text: () => Buffer.concat(bodies).toString('latin1'),
    hang: () => void (isHanging = true),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return receiver
}
