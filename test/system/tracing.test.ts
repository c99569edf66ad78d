/** Traces: from the request of a source to the request of its receiver, at a real collector. */

import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const caller = `00-${trace}-00f067aa0ba902b7-01`
const secrets = { userId: 'user-to-be-hidden', messageId: 'message-to-be-hidden', property: 'property-to-be-hidden' }

const post = (node: TestApp, path: string, { writeKey }: Source, body: object, traceparent?: string) =>
  fetch(`${node.url}/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
      'content-type': 'application/json',
      ...(traceparent !== undefined && { traceparent }),
    },
    body: JSON.stringify(body),
  })

const traceOf = ({ headers }: ReceivedRequest): string => String(headers['traceparent']).slice(3, 35)

/** What the node logged. */
const lines: Record<string, unknown>[] = []
const logger = pino({ level: 'debug' }, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) })

let collector: OtlpReceiver
let node: TestApp
beforeAll(async () => {
  collector = await startOtlpReceiver()
  node = await startTestApp({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, logger })
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await collector[Symbol.asyncDispose]()
})

/** The spans of a trace, as soon as there are as many of each name. */
const spansOf = (traceId: string, expected: Record<string, number>): Promise<ReceivedSpan[]> =>
  until(`the spans of ${traceId}: ${JSON.stringify(expected)}`, () => {
    const spans = collector.spans.filter((span) => span.traceId === traceId)
    const has = ([name, count]: [string, number]): boolean => spans.filter((span) => span.name === name).length >= count
    return Object.entries(expected).every(has) && spans
  })

const named = (spans: ReceivedSpan[], name: string): ReceivedSpan[] => {
  const found = spans.filter((span) => span.name === name)
  return found.toSorted((a, b) => Number(a.startTimeUnixNano - b.startTimeUnixNano))
}

describe('an event with the trace of its source', () => {
  it('has one trace from the request to its retried delivery', async () => {
    await using receiver = await startReceiver()
    receiver.answerInTurn({ status: 503 }, {})
    const source = await node.createSource()
    const { id: destinationId, settings } = await node.connect([source], [`${receiver.url}/hook-secret?key=key-secret`])
    const { property, ...ids } = secrets
    const event = { ...ids, event: 'E', properties: { property } }
    expect((await post(node, '/track', source, event, caller)).status).toBe(200)
    const requests = await receiver.received(2)
    const spans = await spansOf(trace, {
      'POST /v1/track': 1,
      'StartWorkflow:deliverEvent': 1,
      'RunWorkflow:deliverEvent': 1,
      POST: 2,
    })

    const [ingest] = named(spans, 'POST /v1/track')
    expect(ingest).toMatchObject({
      parentSpanId: '00f067aa0ba902b7',
      kind: 'SPAN_KIND_SERVER',
      attributes: { 'http.request.method': 'POST', 'http.route': '/v1/track', 'http.response.status_code': 200 },
    })
    const [start] = named(spans, 'StartWorkflow:deliverEvent')
    expect(start).toMatchObject({ parentSpanId: ingest?.spanId, kind: 'SPAN_KIND_CLIENT' })
    const [workflow] = named(spans, 'RunWorkflow:deliverEvent')
    expect(workflow).toMatchObject({ parentSpanId: start?.spanId, attributes: { 'postrider.outcome': 'delivered' } })
    const attempts = [...named(spans, 'RunActivity:attemptDelivery'), ...named(spans, 'RunActivity:retryDelivery')]
    const facts = {
      'postrider.source_id': source.id,
      'postrider.destination_id': destinationId,
      'postrider.endpoint_id': settings.webhooks[0]?.id,
      temporalRunId: workflow?.attributes['temporalRunId'],
    }
    expect(attempts).toMatchObject([
      {
        parentSpanId: workflow?.spanId,
        attributes: { ...facts, 'postrider.attempt': 1, 'postrider.outcome': 'unavailable' },
        status: { code: 'STATUS_CODE_ERROR' },
      },
      {
        parentSpanId: workflow?.spanId,
        attributes: { ...facts, 'postrider.attempt': 2, 'postrider.outcome': 'delivered' },
      },
    ])
    const outbound = named(spans, 'POST')
    const address = { 'server.address': '127.0.0.1', 'server.port': receiver.port }
    expect(outbound).toMatchObject([
      {
        kind: 'SPAN_KIND_CLIENT',
        parentSpanId: attempts[0]?.spanId,
        attributes: { ...address, 'http.response.status_code': 503, 'error.type': '503' },
      },
      {
        parentSpanId: attempts[1]?.spanId,
        attributes: { ...address, 'http.response.status_code': 200, 'http.request.resend_count': 1 },
      },
    ])
    expect(requests.map(({ headers }) => headers['traceparent'])).toEqual(
      outbound.map(({ spanId }) => `00-${trace}-${spanId}-01`),
    )
    for (const { startTimeUnixNano, endTimeUnixNano } of spans)
      expect(endTimeUnixNano).toBeGreaterThanOrEqual(startTimeUnixNano)

    const ofAttempts = lines.filter(({ msg, sourceId }) => msg === 'delivery.attempted' && sourceId === source.id)
    expect(ofAttempts).toMatchObject([
      { traceId: trace, attempt: 1 },
      { traceId: trace, attempt: 2 },
    ])

    expect(new Set(collector.requests)).toEqual(new Set(['POST /v1/traces application/x-protobuf']))
    expect(collector.resource).toMatchObject({
      'service.name': 'postrider',
      'service.version': expect.stringMatching(/^\d/) as unknown,
      'service.instance.id': expect.stringContaining(`${process.pid}@`) as unknown,
    })
    const hidden = [...Object.values(secrets), 'hook-secret', 'key-secret', source.writeKey]
    expect(hidden.filter((text) => collector.text().includes(text))).toEqual([])
  })
})

it('an event without one begins a trace', async () => {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  await post(node, '/track', source, { userId: 'u1', event: 'E' })
  const [request] = await receiver.received(1)
  const traceId = traceOf(request as ReceivedRequest)
  const spans = await spansOf(traceId, { 'POST /v1/track': 1, 'RunWorkflow:deliverEvent': 1, POST: 1 })
  expect(named(spans, 'POST /v1/track')).toMatchObject([{ parentSpanId: '' }])
})

it('a trace that its source does not sample goes on, and is not sent', async () => {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const unsampled = '0af7651916cd43dd8448eb211c80319c'
  await post(node, '/track', source, { userId: 'u1', event: 'E' }, `00-${unsampled}-b7ad6b7169203331-00`)
  const [request] = await receiver.received(1)
  expect(request?.headers['traceparent']).toMatch(new RegExp(`^00-${unsampled}-[0-9a-f]{16}-00$`))
  const next = await post(node, '/track', source, { userId: 'u1', event: 'E' }, caller)
  expect(next.status).toBe(200)
  const [, later] = await receiver.received(2)
  const [, , spanId] = String(later?.headers['traceparent']).split('-')
  await until('what came later is sent', () => collector.spans.some((span) => span.spanId === spanId))
  expect(collector.spans.filter((span) => span.traceId === unsampled)).toEqual([])
})

it('events of a parcel go on in their own traces', async () => {
  await using receiver = await startReceiver()
  receiver.answer((_, index) => (index < 5 ? { status: 503 } : {}))
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const count = 300
  const batch = Array.from({ length: count }, (_, n) => ({
    type: 'track',
    userId: 'u1',
    event: 'E',
    messageId: `p-${n}`,
  }))
  const parcelTrace = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1'
  const answer = await post(node, '/batch', source, { batch }, `00-${parcelTrace}-00f067aa0ba902b7-01`)
  expect(answer.status).toBe(200)
  const delivered = () =>
    new Set(receiver.requests.map(({ body }) => (JSON.parse(String(body)) as { messageId: string }).messageId))
  await until('all have arrived', () => delivered().size === count && receiver.requests.length >= count + 5)
  expect(new Set(receiver.requests.map(traceOf))).toEqual(new Set([parcelTrace]))
  const spans = await until('all deliveries have ended', () => {
    const found = collector.spans.filter(({ traceId }) => traceId === parcelTrace)
    return found.filter(({ name }) => name.startsWith('RunWorkflow:')).length === count && found
  })
  const parentsOf = (name: string) => named(spans, name).map(({ parentSpanId }) => parentSpanId)
  const idsOfSpans = (name: string) => named(spans, name).map(({ spanId }) => spanId)
  const carriedInParcels = idsOfSpans('RunWorkflow:deliverParcel')
  expect(carriedInParcels.length).toBeGreaterThan(count / 2)
  expect(new Set(parentsOf('StartWorkflow:deliverParcel'))).toEqual(new Set(idsOfSpans('POST /v1/batch')))
  expect(parentsOf('RunWorkflow:deliverParcel').toSorted()).toEqual(
    idsOfSpans('StartWorkflow:deliverParcel').toSorted(),
  )
  // An endpoint that failed may turn first attempts away.
  const attemptsInParcels = [...parentsOf('RunActivity:attemptParcel'), ...parentsOf('RunActivity:retryInParcel')]
  expect(new Set(attemptsInParcels)).toEqual(new Set(carriedInParcels))
  const carried = new Set(receiver.requests.map(({ headers }) => String(headers['traceparent']).split('-')[2]))
  const sent = spans.filter(({ name }) => name === 'POST')
  expect(sent.filter(({ spanId }) => !carried.has(spanId))).toEqual([])
})

it('shows the collector the key of a file', async () => {
  await using guarded = await startOtlpReceiver()
  const folder = await mkdtemp(join(tmpdir(), 'postrider-headers-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'headers')
  await writeFile(file, 'authorization=Bearer%20a-key,x-team=shop\n')
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: guarded.url, OTEL_EXPORTER_OTLP_HEADERS_FILE: file }
  await using other = await startTestApp({ environment })
  const source = await other.createSource()
  await post(other, '/track', source, { userId: 'u1', event: 'E' })
  await until('spans arrive', () => guarded.authorizations.length > 0)
  expect(new Set(guarded.authorizations)).toEqual(new Set(['Bearer a-key']))
})

it('spans have the attributes that the documentation names, and no others', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/tracing.md'), 'utf8')
  const names = new Set(collector.spans.flatMap(({ attributes }) => Object.keys(attributes)))
  expect(names.size).toBeGreaterThan(10)
  expect([...names].filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

it('a collector that is away or hangs neither slows nor fails anything', async () => {
  await using silent = await startOtlpReceiver()
  silent.hang()
  for (const endpoint of ['http://127.0.0.1:1', silent.url]) {
    await using other = await startTestApp({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } })
    await using receiver = await startReceiver()
    const source = await other.createSource()
    await other.connect([source], [receiver.url])
    for (let n = 0; n < 5; n++)
      expect((await post(other, '/track', source, { userId: 'u1', event: 'E' })).status).toBe(200)
    await receiver.received(5)
  }
})

it('no request carries a trace where tracing is off', async () => {
  await using other = await startTestApp({})
  await using receiver = await startReceiver()
  const source = await other.createSource()
  await other.connect([source], [receiver.url])
  await post(other, '/track', source, { userId: 'u1', event: 'E' }, caller)
  const [request] = await receiver.received(1)
  expect(request?.headers).not.toHaveProperty('traceparent')
})
