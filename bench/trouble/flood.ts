/** A flood to an endpoint that takes nothing and recovers later, beside the same flood to one that answers. */

import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../delivery/events.ts'
import type { Report } from '../support/figures.ts'
import type { LoadOrder, LoadResult } from '../support/load.ts'
import type { BenchNode } from '../support/node.ts'
import { startNeighbour, tellNeighbour } from './neighbour.ts'
import type { Conduct, Receiver, Receivers, Taken } from './receivers.ts'

const connections = 50
const aloneMs = 20_000
const warmUpMs = 5_000
const calmDownMs = 3_000

/** How long all of a flood may take once its endpoint answers, in milliseconds; the goal is a minute. */
const limitMs = 240_000
const goalSeconds = 60

export interface Trouble {
  node: BenchNode
  report: Report
  receivers: Receivers
  runLoad: (order: LoadOrder) => Promise<LoadResult>
}

export interface FloodOptions {
  /** What the endpoint does instead of answering. */
  conduct: Exclude<Conduct, 'answers'>
  events: number
  /** From the last post until the endpoint answers, in milliseconds. */
  outageMs: number
}

export async function measureFlood(trouble: Trouble, { conduct, events, outageMs }: FloodOptions): Promise<void> {
  const { node, report, receivers } = trouble
  const add: Report['add'] = (name, ...figure) => report.add(`${conduct}: ${name}`, ...figure)
  const healthy = await receivers.open('answers')
  const answering = await receivers.open('answers')
  const troubled = await receivers.open(conduct)

  const neighbour = await startNeighbour(node, healthy)
  await flood(trouble, answering, `warm-${conduct}`, Math.ceil(events / 10))
  await sleep(warmUpMs)
  neighbour.enter('alone')
  await sleep(aloneMs)
  neighbour.enter('beside a flood that is answered')
  const reference = await flood(trouble, answering, `answered-${conduct}`, events)
  await answering.hasTaken(Math.ceil(events / 10) + reference.accepted, limitMs)
  neighbour.enter('after it')
  await sleep(calmDownMs)

  neighbour.enter('beside the flood')
  const { accepted, acceptedPerSecond } = await flood(trouble, troubled, conduct, events)
  neighbour.enter('while it waits')
  await sleep(outageMs)
  neighbour.enter('while it recovers')
  await troubled.become('answers')
  const answersAt = performance.timeOrigin + performance.now()
  await troubled.hasTaken(accepted, limitMs).catch((error: unknown) => console.log(error))
  await sleep(calmDownMs)
  const times = await neighbour.end()
  const taken = await troubled.taken()

  add('accepted where it answers', reference.acceptedPerSecond, '/s')
  add('accepted', acceptedPerSecond, '/s')
  add('accepted to that where it answers', acceptedPerSecond / reference.acceptedPerSecond, '', { least: 1 })
  tellNeighbour({ ...report, add }, 'neighbour', times, {
    alone: 'alone',
    phases: ['beside the flood', 'while it waits', 'while it recovers'],
  })
  tellRecovery(add, taken, accepted, answersAt)
  await troubled.become('refuses')
}

async function flood({ node, runLoad }: Trouble, { url }: Receiver, prefix: string, events: number) {
  const { writeKey } = await connect(node, url)
  const order = { url: node.url, writeKey, connections, batchSize: 1, seconds: limitMs / 1_000, events, prefix }
  const result = await runLoad(order)
  if (result.accepted < events) console.log('refused', result.refused)
  return result
}

export function tellRecovery(add: Report['add'], taken: readonly Taken[], accepted: number, answersAt: number): void {
  const secondsUntil = (at = Infinity): number => (at - answersAt) / 1_000
  const arrivals = taken.map(({ at }) => at).sort((a, b) => a - b)
  add('first arrival after it answers', secondsUntil(arrivals[0]), 's')
  add('half have arrived', secondsUntil(arrivals[Math.floor(accepted / 2)]), 's')
  add('all have arrived', secondsUntil(arrivals[accepted - 1]), 's', { most: goalSeconds })
  add('lost', accepted - taken.length, 'events', { most: 0 })
  add(
    'repeats',
    taken.reduce((sum, { times }) => sum + times - 1, 0),
    'events',
    { most: 0 },
  )
}
