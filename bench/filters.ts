/** `npm run bench:filters`: what a filter of ten rules costs. Batches to two sources without a filter and to one with it, in turn in one run on
 *  one node, while Temporal is stopped, so that nothing but taking events is measured; then the processor time of the filter alone. How far the
 *  two without a filter differ tells what the machine makes up by itself. */

import { parseArgs } from 'node:util'
import { compileFilter } from '../src/filters/filter.ts'
import type { Filter } from '../src/schemas/filter.ts'
import type { MessageBody } from '../src/schemas/message.ts'
import type { Source } from '../src/schemas/source.ts'
import { openReport, quantile } from './support/figures.ts'
import type { LoadOrder, LoadResult } from './support/load.ts'
import { startLoad } from './support/load-process.ts'
import { startNode } from './support/node.ts'
import { processorMs } from './support/processor.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '12' }, seconds: { type: 'string', default: '3' } },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)

/** Holds for each event of the load, so that every rule is asked. */
const filter: Filter = {
  match: {
    all: [
      { path: 'type', op: 'equals', value: 'track' },
      { path: 'event', op: 'glob', value: 'Order *' },
      { path: 'userId', op: 'startsWith', value: 'user-' },
      { path: 'properties.total', op: 'greater', value: 5 },
      { path: 'properties.total', op: 'less', value: 500 },
      { path: 'properties.currency', op: 'oneOf', value: ['EUR', 'CHF', 'USD'] },
      { path: 'properties.items.0.sku', op: 'contains', value: 'a' },
      { not: { path: 'properties.coupon', op: 'exists' } },
      { path: 'context.library.name', op: 'exists' },
      { path: 'context.locale', op: 'equals', value: 'de-DE' },
    ],
  },
}

const load = await startLoad()
const runLoad = async (order: LoadOrder): Promise<LoadResult> => {
  const result = await load.run(order)
  if (Object.keys(result.refused).length > 0) throw new Error(`refused: ${JSON.stringify(result.refused)}`)
  return result
}

const node = await startNode({ POSTRIDER_INBOX_MAX: '10000000' })
const { pid = 0 } = node.process

async function connect(of: Filter | null): Promise<Source> {
  const source = await node.api<Source>('POST', '/sources', { name: 'bench' })
  const settings = { webhooks: [{ url: 'http://127.0.0.1:9/nobody-listens' }] }
  const destination = { name: 'bench', type: 'webhooks', sourceIds: [source.id], filter: of, settings }
  await node.api('POST', '/destinations', destination)
  return source
}

interface Run {
  rate: number
  /** Processor time of an event, in microseconds. */
  cost: number
}

let run = 0
async function measure({ writeKey }: Source): Promise<Run> {
  const order = { url: node.url, writeKey, connections: 10, batchSize: 100, seconds, prefix: `run-${++run}` }
  const before = await processorMs([pid])
  const { accepted, acceptedPerSecond } = await runLoad(order)
  return { rate: acceptedPerSecond, cost: (((await processorMs([pid])) - before) * 1_000) / accepted }
}

const report = openReport('A filter of ten rules')
try {
  const sources = [await connect(null), await connect(null), await connect(filter)]
  await node.stopTemporal()
  for (const source of sources) await measure(source)
  const found: Run[][] = []
  for (let round = 0; round < rounds; round++) {
    const runs = new Map<Source, Run>()
    // Each goes first in turn: the table grows meanwhile.
    for (const place of sources.keys()) {
      const source = sources[(round + place) % sources.length] as Source
      runs.set(source, await measure(source))
    }
    found.push(sources.map((source) => runs.get(source) as Run))
  }
  const median = (of: (one: Run, other: Run, filtered: Run) => number): number =>
    quantile(
      found.map((runs) => of(...(runs as [Run, Run, Run]))),
      0.5,
    )
  /** By how much a figure is above that of both sources without a filter, in percent. */
  const above = (figure: keyof Run) =>
    median((one, other, it) => (it[figure] / ((one[figure] + other[figure]) / 2) - 1) * 100)
  report.add(
    'accepted without',
    median((one) => one.rate),
    'events/s',
  )
  report.add(
    'accepted with',
    median((_one, _other, filtered) => filtered.rate),
    'events/s',
  )
  report.add(
    'processor time of the node without',
    median((one) => one.cost),
    'µs/event',
  )
  report.add(
    'processor time of the node with',
    median((_one, _other, filtered) => filtered.cost),
    'µs/event',
  )
  report.add('rate lost', -above('rate'), '%', { most: 3 })
  report.add('processor time added', above('cost'), '%', { most: 3 })
  report.add(
    'rate that the other without a filter loses',
    median((one, other) => (1 - other.rate / one.rate) * 100),
    '%',
  )
  report.add(
    'processor time that it adds',
    median((one, other) => (other.cost / one.cost - 1) * 100),
    '%',
  )
} finally {
  // A server that is suspended does not end.
  await node.continueTemporal()
  await node.stop()
  load.stop()
}
report.add('the filter alone', aloneMicroseconds(), 'µs/event')
report.close()

function aloneMicroseconds(): number {
  const event: MessageBody = {
    type: 'track',
    timestamp: '2026-01-01T00:00:00.000Z',
    userId: 'user-4711',
    event: 'Order Completed',
    properties: { total: 19.5, currency: 'EUR', items: [{ sku: 'a-1' }], coupon: null },
    context: { locale: 'de-DE', library: { name: 'bench' } },
  }
  const asks = 1_000_000
  const ask = compileFilter(filter, 'dst_1')
  const before = process.cpuUsage()
  for (let n = 0; n < asks; n++) if (ask(event) !== undefined) throw new Error('the filter does not take its event')
  const { user, system } = process.cpuUsage(before)
  return (user + system) / asks
}
