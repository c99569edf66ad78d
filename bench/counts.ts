/** `npm run bench:counts`: what it takes to count the inbox for the overview, with 10,000 and with 1,000,000 events that wait,
 *  beside a plain count of all rows. */

import { parseArgs } from 'node:util'
import type { Database } from '../src/db/database.ts'
import { countQueued } from '../src/db/inbox-count.ts'
import type { DeliveryFilter } from '../src/schemas/delivery.ts'
import { withDatabase } from './support/database.ts'
import { openReport, quantile } from './support/figures.ts'

const { values } = parseArgs({ options: { events: { type: 'string', default: '1000000' } } })
const most = Number(values.events)
const rounds = 7
const report = openReport('Counts of the inbox')

const filters: DeliveryFilter[] = [
  { status: 'queued' },
  { status: 'failed' },
  { status: 'cancelled' },
  { status: 'queued', sourceId: 'source 3' },
  {},
]

await withDatabase(async (database) => {
  await fill(database, 0, 10_000)
  await measure(database, 10_000)
  const step = 100_000
  for (let from = 10_000; from < most; from += step) await fill(database, from, Math.min(most, from + step))
  await measure(database, most)
})
report.close()

async function measure(database: Database, events: number): Promise<void> {
  for (const filter of filters) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) times.push(await timeOf(() => countQueued(database, filter)))
    const name = Object.values(filter).join(' of ') || 'all'
    report.add(`${events} wait: ${name}, median`, quantile(times, 0.5), 'ms')
    report.add(`${events} wait: ${name} counted`, await countQueued(database, filter), '')
  }
  const plain = await timeOf(() => database.query('select count(*) from inbox where refusal is null'))
  report.add(`${events} wait: plain count`, plain, 'ms')
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** Bodies of 300 characters, from ten sources. */
function fill(database: Database, from: number, below: number): Promise<unknown> {
  return database.patient.query(
    `insert into inbox (workflow_id, source_id, message_id, type, destination_ids, input, received_at)
     select 'event/' || n, 'source ' || n % 10, n, 'track', '{dst_1}', json_build_object('text', repeat('x', 300)), now()
     from generate_series($1::int, $2::int - 1) as n`,
    [from, below],
  )
}
