/** Latency on an idle node and the saturated rate, of this build and another one in turn: the speed of a machine changes within
 *  minutes, so only figures of the same minutes are compared. */

import { quantile, type Report } from '../support/figures.ts'
import { startNode, type BenchNode } from '../support/node.ts'
import { startBenchReceiver } from '../support/receiver.ts'
import { arrivalLimitMs, connect, latencies, postMany } from '../delivery/events.ts'

const perSecond = 20
const postsAtATime = 32

export interface InTurnOptions {
  /** Begins the names of the figures. */
  title: string
  /** Of this build's node. */
  environment: Record<string, string>
  /** Entry of the other build; none: this one alone. */
  against: string | undefined
  rounds: number
  /** Idle, in each round. */
  seconds: number
  /** Saturated, in each round; 0 leaves it out. */
  events: number
  /** What the latencies may be at most, as a share of the other's. */
  mostLatency: number
}

interface Figures {
  times: number[]
  rates: number[]
}

export async function measureInTurn(report: Report, options: InTurnOptions): Promise<void> {
  const { title, environment, against, rounds, mostLatency } = options
  const ours = await startNode(environment)
  const other = against === undefined ? undefined : await startNode({}, undefined, against)
  const nodes = other === undefined ? [ours] : [ours, other]
  try {
    const figures = nodes.map((): Figures => ({ times: [], rates: [] }))
    // The first round warms all up.
    for (let round = 0; round <= rounds; round++)
      for (const [index, node] of nodes.entries()) await measureOnce(node, round, options, round > 0 && figures[index])
    const [own, others] = figures
    for (const share of [0.5, 0.99]) {
      const name = `${title}, post to arrival, p${share * 100}`
      const value = quantile(own?.times ?? [], share)
      report.add(name, value, 'ms')
      if (others === undefined) continue
      report.add(`${name}, the other build`, quantile(others.times, share), 'ms')
      report.add(`${name}, ratio`, value / quantile(others.times, share), '', { most: mostLatency })
    }
    if (options.events > 0) tellRates(report, title, own?.rates ?? [], others?.rates)
  } finally {
    await Promise.all(nodes.map((node) => node.stop()))
  }
}

async function measureOnce(
  node: BenchNode,
  round: number,
  { seconds, events }: InTurnOptions,
  figures: Figures | false | undefined,
): Promise<void> {
  const receiver = await startBenchReceiver()
  const source = await connect(node, receiver.url)
  const times = await latencies(node, source, receiver.arrivals, seconds * perSecond, perSecond)
  const before = receiver.arrivals.size
  const begun = performance.now()
  await postMany(node, source, `saturated-${round}`, events, postsAtATime)
  await receiver.arrived(before + events, arrivalLimitMs)
  const rate = events / ((performance.now() - begun) / 1_000)
  receiver.stop()
  if (!figures) return
  figures.times.push(...times)
  figures.rates.push(rate)
}

function tellRates(report: Report, title: string, own: number[], others: number[] | undefined): void {
  const rate = quantile(own, 0.5)
  report.add(`${title}, delivered, saturated`, rate, '/s')
  if (others === undefined) return
  report.add(`${title}, delivered, saturated, the other build`, quantile(others, 0.5), '/s')
  report.add(`${title}, delivered, saturated, ratio`, rate / quantile(others, 0.5), '', { least: 0.95 })
}
