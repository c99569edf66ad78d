/** Symptom: healthy endpoints waited for up to 18 s while 63 others hung.
 *  Cause: each event to an endpoint that hangs started a workflow until the endpoint had failed often enough; and a source whose
 *  event once found no way straight to Temporal was left to the inbox for as long as its events followed closely.
 *  Consequence: where nothing comes back few events find out, and a source goes straight again as soon as none of its
 *  events waits. */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { messageIdsOf } from '../support/repeats.ts'
import { until } from '../support/wait.ts'

const timeout = 180_000

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { POSTRIDER_RETRY_INITIAL: '10m', POSTRIDER_RETRY_MAX: '10m' } })
})
afterAll(() => node[Symbol.asyncDispose]())

const track = (messageId: string) => ({ userId: 'u1', event: 'Beside', messageId })

it('an endpoint that hangs gets no further events until something comes back', { timeout }, async () => {
  await using receiver = await startReceiver()
  receiver.answer('hang')
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const post = async (id: string): Promise<void> =>
    expect((await node.post('/track', source.writeKey, track(id))).status).toBe(200)
  /** Requests of events that were posted while another one hung: more than one at a time would show. */
  const underWay = (): number => receiver.requests.filter(({ isAbandoned }) => !isAbandoned).length

  await post('hangs-first')
  await receiver.received(1)
  // So long that it seems to hang.
  await sleep(1_000)
  const ids = Array.from({ length: 12 }, (_, n) => `hangs-${n}`)
  const seen: number[] = []
  for (const id of ids) {
    await post(id)
    seen.push(underWay())
  }
  // On a slow machine the first attempt may have ended meanwhile, and those two follow it that find out.
  expect(Math.max(...seen)).toBeLessThanOrEqual(2)
  receiver.answer({})
  await until('all that waited have arrived', () => ids.every((id) => messageIdsOf(receiver).includes(id)))
})

it('a source whose events waited once goes straight again, however closely they follow', { timeout }, async () => {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const inboxed = async (): Promise<number> => {
    const text = await (await fetch(`${node.url}/metrics`)).text()
    return Number(/postrider_events_total\{fate="inboxed"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0)
  }
  const before = await inboxed()
  await Promise.all(Array.from({ length: 60 }, (_, n) => node.post('/track', source.writeKey, track(`many-${n}`))))
  expect(await inboxed()).toBeGreaterThan(before)
  let n = 0
  await until('one goes straight', async () => {
    await sleep(100)
    const waited = await inboxed()
    await node.post('/track', source.writeKey, track(`next-${n++}`))
    return (await inboxed()) === waited
  })
})
