/** `npm run bench:mapping`: what a mapping costs. The same batches are delivered in parcels to destinations without a mapping, with six changes of
 *  fields, and with a JSONata expression, in turn in one run on one node; then the processor time of the fields alone. */

import http from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { compileMapping } from '../src/mapping/mapping.ts'
import type { Mapping } from '../src/schemas/mapping.ts'
import type { MessageBody } from '../src/schemas/message.ts'
import type { Source } from '../src/schemas/source.ts'
import { openReport, quantile } from './support/figures.ts'
import { startNode } from './support/node.ts'
import { processorMs } from './support/processor.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '6' }, events: { type: 'string', default: '5000' } },
})
const rounds = Number(values.rounds)
const events = Number(values.events)

const fields: Mapping = {
  drop: ['context.library', 'properties.coupon'],
  hash: ['userId'],
  rename: { 'properties.total': 'properties.amount' },
  set: { 'properties.origin': 'shop', 'properties.version': 2 },
}
const expression: Mapping = {
  expression: `$merge([$, { 'amount': $sum(properties.items.price), 'who': $uppercase(userId) }])`,
}
const kinds = { none: null, fields, expression }
type Kind = keyof typeof kinds

const event = (n: number): MessageBody => ({
  type: 'track',
  timestamp: '2026-01-01T00:00:00.000Z',
  userId: `user-${n}`,
  event: 'Order Completed',
  properties: { total: 19.5, currency: 'EUR', items: [{ sku: 'a-1', price: 3 }], coupon: null },
  context: { locale: 'de-DE', library: { name: 'bench' } },
})

let arrived = 0
const receiver = http.createServer((request, response) => {
  request.resume().on('end', () => {
    arrived++
    response.end()
  })
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

const node = await startNode({})
async function connect(mapping: Mapping | null): Promise<Source> {
  const source = await node.api<Source>('POST', '/sources', { name: 'bench' })
  const settings = { webhooks: [{ url }] }
  await node.api('POST', '/destinations', {
    name: 'bench',
    type: 'webhooks',
    sourceIds: [source.id],
    mapping,
    settings,
  })
  return source
}

const batchSize = 500
const limitMs = 120_000

/** What is left to be written when all have arrived belongs to their flood, and not to the next one, in milliseconds. */
const settleMs = 1_500

interface Flood {
  /** From the first call until all have arrived. */
  perSecond: number
  /** Of the node and its server, for each event. */
  processorMs: number
}

async function deliver({ writeKey }: Source): Promise<Flood> {
  arrived = 0
  const pids = [node.process.pid ?? 0, await node.temporalPid()]
  const before = await processorMs(pids)
  const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`
  const begun = performance.now()
  for (let first = 0; first < events; first += batchSize) {
    const batch = Array.from({ length: batchSize }, (_, n) => event(first + n))
    const headers = { authorization, 'content-type': 'application/json' }
    const { ok } = await fetch(`${node.url}/v1/batch`, { method: 'POST', headers, body: JSON.stringify({ batch }) })
    if (!ok) throw new Error('a batch was refused')
  }
  while (arrived < events) {
    if (performance.now() - begun > limitMs) throw new Error(`${arrived} of ${events} arrived`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const perSecond = (events / (performance.now() - begun)) * 1_000
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  return { perSecond, processorMs: ((await processorMs(pids)) - before) / events }
}

const report = openReport('A mapping')
try {
  const sources: Record<Kind, Source> = {
    none: await connect(null),
    fields: await connect(fields),
    expression: await connect(expression),
  }
  const floods: Record<Kind, Flood[]> = { none: [], fields: [], expression: [] }
  const order = Object.keys(kinds) as Kind[]
  for (const kind of order) await deliver(sources[kind])
  for (let round = 0; round < rounds; round++) {
    // Each goes first in turn.
    for (const kind of order) floods[kind].push(await deliver(sources[kind]))
    order.push(...order.splice(0, 1))
  }
  const of = (kind: Kind, figure: keyof Flood): number[] => floods[kind].map((flood) => flood[figure])
  /** Of the rounds, each compared within itself. */
  const ratio = (figure: keyof Flood, kind: Kind): number =>
    quantile(
      of(kind, figure).map((value, round) => value / (of('none', figure)[round] ?? value)),
      0.5,
    )
  for (const kind of ['none', 'fields', 'expression'] as const) {
    report.add(`delivered with ${kind}`, quantile(of(kind, 'perSecond'), 0.5), 'events/s')
    report.add(`processor with ${kind}`, quantile(of(kind, 'processorMs'), 0.5), 'ms an event')
  }
  for (const [kind, most] of [
    ['fields', 5],
    ['expression', 25],
  ] as const) {
    report.add(`${kind}: rate lost`, (1 - ratio('perSecond', kind)) * 100, '%', { most })
    report.add(`${kind}: processor added`, (ratio('processorMs', kind) - 1) * 100, '%')
  }
} finally {
  await node.stop()
  receiver.close()
}
report.add('fields alone', aloneMicroseconds(), 'µs/event')
report.close()

function aloneMicroseconds(): number {
  const times = 200_000
  const map = compileMapping(fields, () => Promise.reject(new Error('there is no expression')))
  const about = event(4711)
  const before = process.cpuUsage()
  for (let n = 0; n < times; n++) void map(about)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}
