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

/** @returns events a second, from the first call until all have arrived */
async function deliver({ writeKey }: Source): Promise<number> {
  arrived = 0
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
  return (events / (performance.now() - begun)) * 1_000
}

const report = openReport('A mapping')
try {
  const sources: Record<Kind, Source> = {
    none: await connect(null),
    fields: await connect(fields),
    expression: await connect(expression),
  }
  const rates: Record<Kind, number[]> = { none: [], fields: [], expression: [] }
  const order = Object.keys(kinds) as Kind[]
  for (const kind of order) await deliver(sources[kind])
  for (let round = 0; round < rounds; round++) {
    // Each goes first in turn.
    for (const kind of order) rates[kind].push(await deliver(sources[kind]))
    order.push(...order.splice(0, 1))
  }
  const lost = (kind: Kind): number =>
    quantile(
      rates[kind].map((rate, n) => (1 - rate / (rates.none[n] ?? rate)) * 100),
      0.5,
    )
  for (const kind of ['none', 'fields', 'expression'] as const)
    report.add(`delivered with ${kind}`, quantile(rates[kind], 0.5), 'events/s')
  report.add('rate lost by fields', lost('fields'), '%', { most: 5 })
  report.add('rate lost by an expression', lost('expression'), '%', { most: 25 })
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
