/** A healthy endpoint with events at an even pace, and how long each takes from the post to its arrival. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Source } from '../../src/schemas/source.ts'
import { connect, post } from '../delivery/events.ts'
import { quantile, type Report } from '../support/figures.ts'
import type { BenchNode } from '../support/node.ts'
import type { Receiver } from './receivers.ts'

const usualPerSecond = 20

/** How long the last events are waited for, in milliseconds. */
const arrivalLimitMs = 60_000

export interface Neighbour {
  /** Events that are posted from now on count as of this phase. */
  enter(phase: string): void
  /** Ends the posts. @returns milliseconds from post to arrival by phase; infinite for what did not arrive */
  end(): Promise<Map<string, number[]>>
}

export async function startNeighbour(
  node: BenchNode,
  receiver: Receiver,
  perSecond = usualPerSecond,
): Promise<Neighbour> {
  const source = await connect(node, receiver.url)
  const posted: { messageId: string; at: number; phase: string }[] = []
  const answers: Promise<unknown>[] = []
  const prefix = `neighbour-${performance.now()}`
  let phase = 'warm up'
  let isOver = false

  const postOn = async (): Promise<void> => {
    const begun = performance.now()
    for (let index = 0; !isOver; index++) {
      await sleep(Math.max(0, begun + (index * 1_000) / perSecond - performance.now()))
      const messageId = `${prefix}-${index}`
      posted.push({ messageId, at: performance.timeOrigin + performance.now(), phase })
      answers.push(postOrTell(node, source, messageId))
    }
  }
  const posting = postOn()

  return {
    enter: (next) => void (phase = next),
    async end() {
      isOver = true
      await posting
      await Promise.all(answers)
      await receiver.hasTaken(posted.length, arrivalLimitMs).catch(() => undefined)
      const arrivals = new Map((await receiver.taken()).map(({ messageId, at }) => [messageId, at]))
      const times = new Map<string, number[]>()
      for (const { messageId, at, phase } of posted)
        times.set(phase, [...(times.get(phase) ?? []), (arrivals.get(messageId) ?? Infinity) - at])
      return times
    },
  }
}

/** One that was not accepted does not arrive, and counts as such. */
const postOrTell = (node: BenchNode, source: Source, messageId: string): Promise<unknown> =>
  post(node, source, messageId).catch((error: unknown) => console.error(messageId, error))

export interface Beside {
  /** The phase in which the neighbour was alone. */
  alone: string
  /** Those that the goal is for, together. */
  phases: readonly string[]
}

/** Each phase on its own, and the goals: p97 under twice that alone, nobody waits a second.
 *  @param name  of the neighbour */
export function tellNeighbour({ add }: Report, name: string, times: Map<string, number[]>, beside: Beside): void {
  const of = (phase: string): number[] => times.get(phase) ?? []
  const alone = quantile(of(beside.alone), 0.97)
  add(`${name} ${beside.alone}, p97`, alone, 'ms')
  for (const [phase, all] of times) {
    if (phase === beside.alone || phase === 'warm up') continue
    add(`${name} ${phase}, p50`, quantile(all, 0.5), 'ms')
    add(`${name} ${phase}, p97`, quantile(all, 0.97), 'ms')
  }
  const all = beside.phases.flatMap(of)
  add(`${name} beside, p97 to that alone`, quantile(all, 0.97) / alone, '', { most: 2 })
  add(`${name} beside, longest`, Math.max(...all), 'ms', { most: 1_000 })
}
