/** `npm run bench:settings`: how long the main thread is held up when settings are read, with 10,000 sources and 10,000
 *  destinations: all of them at the start, and a change. */

import { setTimeout as sleep } from 'node:timers/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import type { Database } from '../src/db/database.ts'
import { createDestinationStore, type DestinationStore } from '../src/db/destinations.ts'
import { createSecretBox, type SecretBox } from '../src/secrets.ts'
import { watchSettings } from '../src/settings/settings.ts'
import { logger, withDatabase } from './support/database.ts'
import { openReport, quantile } from './support/figures.ts'

const { values } = parseArgs({
  options: { each: { type: 'string', default: '10000' }, changes: { type: 'string', default: '30' } },
})
const [each, changes] = [Number(values.each), Number(values.changes)]
const box = createSecretBox([{ id: 'k1', key: Buffer.alloc(32, 1) }])
const report = openReport(`Settings: ${each} sources, ${each} destinations`)

await withDatabase(async (database) => {
  await fill(database, box)
  const store = createDestinationStore(database, box)
  const settings = watchSettings(database, store, logger)
  report.add('all read, main thread held up for', await heldUpMs(() => settings.load()), 'ms')
  // Its own look at the version would be measured too.
  settings.close()
  const [idle, changed]: [number[], number[]] = [[], []]
  for (let n = 0; n < changes; n++) {
    idle.push(await heldUpMs(() => sleep(20)))
    await change(store, n)
    changed.push(await heldUpMs(() => settings.refresh()))
  }
  report.add('nothing read, median', quantile(idle, 0.5), 'ms')
  report.add('nothing read, longest', quantile(idle, 1), 'ms')
  report.add('a change read, median', quantile(changed, 0.5), 'ms', { most: 20 })
  report.add('a change read, longest', quantile(changed, 1), 'ms', { most: 20 })
})
report.close()

function change(store: DestinationStore, n: number): Promise<unknown> {
  return store.update(idOf('dst', n + 1), { name: `changed ${n}` })
}

function idOf(prefix: string, n: number): string {
  return `${prefix}_${String(n).padStart(20, '0')}`
}

/** @returns the longest time that the main thread was busy without a break, in milliseconds */
async function heldUpMs(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await sleep(5)
  delay.reset()
  await work()
  await sleep(5)
  delay.disable()
  return delay.max / 1e6
}

/** Each destination has a source of its own, a secret and an endpoint with headers. */
async function fill(database: Database, secrets: SecretBox): Promise<void> {
  const numbers = Array.from({ length: each }, (_, n) => n + 1)
  const [sources, destinations] = [numbers.map((n) => idOf('src', n)), numbers.map((n) => idOf('dst', n))]
  await database.query(
    `insert into sources (id, name, write_key) select id, id, md5(id) || '00000000' from unnest($1::text[]) as id`,
    [sources],
  )
  await database.query(
    `insert into destinations (id, name, type, enabled, success_policy, shared_secret_encrypted)
     select d.id, d.id, 'webhooks', true, 'any', d.secret from unnest($1::text[], $2::text[]) as d(id, secret)`,
    [destinations, numbers.map((n) => secrets.seal(`secret ${n}`))],
  )
  await database.query('insert into destination_sources select * from unnest($1::text[], $2::text[])', [
    destinations,
    sources,
  ])
  await database.query(
    `insert into endpoints (id, destination_id, position, url, headers_encrypted)
     select e.id, e.destination, 0, 'https://example.test/', e.headers
     from unnest($1::text[], $2::text[], $3::text[]) as e(id, destination, headers)`,
    [
      numbers.map((n) => idOf('ep', n)),
      destinations,
      numbers.map((n) => secrets.seal(JSON.stringify({ 'x-number': `${n}` }))),
    ],
  )
}
