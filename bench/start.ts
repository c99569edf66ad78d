/** `npm run bench:start`: what a node is like right after its start and with nothing to do, how it comes through kills and a busy
 *  machine, and beside another build in turn: `-- --against <folder of its checkout, built>`. In a minute or two:
 *  `npm run bench:start -- --only idle,memory --rounds 1 --seconds 5 --idle 20`, or `--only kills --events 5000 --kills 3`. */

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { measureFirstEvents } from './start/first-events.ts'
import { measureInTurn } from './start/in-turn.ts'
import { measureKills } from './start/kills.ts'
import { measureMemory } from './start/memory.ts'
import { measureSlowed } from './start/slowed.ts'
import { openReport } from './support/figures.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'idle,first,slowed,kills,off,memory' },
    against: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    /** Of each idle round. */
    seconds: { type: 'string', default: '15' },
    /** Of each saturated round with parcels off. */
    singles: { type: 'string', default: '1000' },
    /** On the machine slowed down, as singles and once more in batches. */
    slowed: { type: 'string', default: '5000' },
    /** In the inbox before the kills. */
    events: { type: 'string', default: '100000' },
    kills: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** Seconds from a start until its memory is measured. */
    idle: { type: 'string', default: '60' },
  },
})
const only = new Set(values.only.split(','))
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
const against = values.against === undefined ? undefined : resolve(values.against, 'dist/src/postrider.cjs')
const report = openReport('Start')

if (only.has('idle'))
  await measureInTurn(report, { title: 'idle', environment: {}, against, rounds, seconds, events: 0, mostLatency: 1 })
if (only.has('first')) await measureFirstEvents(report, Math.min(rounds, 3))
if (only.has('slowed')) await measureSlowed(report, Number(values.slowed))
if (only.has('kills')) {
  const [events, kills, seed] = [Number(values.events), Number(values.kills), Number(values.seed)]
  await measureKills(report, { events, kills, seed })
}
if (only.has('off')) {
  const off = { title: 'parcels off', environment: { POSTRIDER_PARCELS: 'off' }, events: Number(values.singles) }
  await measureInTurn(report, { ...off, against, rounds, seconds, mostLatency: 1.05 })
}
if (only.has('memory')) await measureMemory(report, Number(values.idle))
report.close()
