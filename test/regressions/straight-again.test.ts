/** Symptom: healthy endpoints waited for seconds while others hung, long after there was room.
 *  Cause: a source whose event once found no way straight to Temporal was left to the inbox for as long as its events followed
 *  each other within half a second.
 *  Consequence: it goes straight again as soon as none of its events waits. */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const timeout = 180_000

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { POSTRIDER_RETRY_INITIAL: '10m', POSTRIDER_RETRY_MAX: '10m' } })
})
afterAll(() => node[Symbol.asyncDispose]())

const track = (messageId: string) => ({ userId: 'u1', event: 'Beside', messageId })

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
