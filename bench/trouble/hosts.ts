/** Healthy endpoints beside 50 hanging ones on as many hosts, and 13 on the host of one of them; and, for comparison, beside as
 *  many events to endpoints that answer. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Source } from '../../src/schemas/source.ts'
import { connect, postAtPace } from '../delivery/events.ts'
import type { Trouble } from './flood.ts'
import { startNeighbour, tellNeighbour } from './neighbour.ts'
import { hangingPath } from './receivers.ts'

const hosts = 50
const onOneHost = 13

/** Events a second at each hanging endpoint, and at each neighbour. */
const perSecond = 1
const ofNeighbour = 10

const warmUpMs = 5_000

/** Until the hanging endpoints have used up their places, in milliseconds: it is measured from then on, and before. */
const leadMs = 10_000

/** @param seconds  how long each phase is measured */
export async function measureHosts({ node, report, receivers }: Trouble, seconds: number): Promise<void> {
  const [apart, shared, answering, hanging] = await Promise.all([
    receivers.open('answers'),
    receivers.open('answers'),
    receivers.open('answers'),
    receivers.open('hangs'),
  ])
  const neighbours = [await startNeighbour(node, apart, ofNeighbour), await startNeighbour(node, shared, ofNeighbour)]
  const enter = (phase: string): void => neighbours.forEach((neighbour) => neighbour.enter(phase))
  const onHostsOf = (port: number): string[] =>
    Array.from({ length: hosts }, (_, index) => `http://127.0.1.${index + 1}:${port}/`)
  const onSharedHost = (path: string): string[] =>
    Array.from({ length: onOneHost }, (_, index) => `${shared.url.slice(0, -1)}${path}/${index}`)

  const makeKnown = (urls: readonly string[]): Promise<Source[]> => Promise.all(urls.map((url) => connect(node, url)))

  /** Posts an event a second to each, every source at its own moment of the second, as sources that know nothing of each other. */
  const keepPosting = async (sources: readonly Source[], forMs: number): Promise<void> => {
    const posting = sources.map(async (source, index) => {
      await sleep((index * 1_000) / perSecond / sources.length)
      await postAtPace(node, source, perSecond * (forMs / 1_000), perSecond)
    })
    await Promise.all(posting)
  }

  await sleep(warmUpMs)
  enter('alone')
  await sleep(seconds * 1_000)
  enter('while all others are made known')
  const answeringSources = await makeKnown([...onHostsOf(answering.port), ...onSharedHost('')])
  const hangingSources = await makeKnown([...onHostsOf(hanging.port), ...onSharedHost(hangingPath)])
  await sleep(warmUpMs)
  enter('while as many begin to answer')
  const answered = keepPosting(answeringSources, seconds * 1_000 + leadMs)
  await sleep(leadMs)
  enter('beside as many that answer')
  await answered
  enter('afterwards')
  await sleep(warmUpMs)

  enter('while they begin to hang')
  const hung = keepPosting(hangingSources, seconds * 1_000 + leadMs)
  await sleep(leadMs)
  enter('while they hang')
  await hung

  const beside = { alone: 'alone', phases: ['while they begin to hang', 'while they hang'] }
  const [onItsOwn, onTheirs] = await Promise.all(neighbours.map((neighbour) => neighbour.end()))
  if (onItsOwn !== undefined) tellNeighbour(report, 'hosts: one on a host of its own', onItsOwn, beside)
  if (onTheirs !== undefined) tellNeighbour(report, `hosts: one with ${onOneHost} on its host`, onTheirs, beside)
}
