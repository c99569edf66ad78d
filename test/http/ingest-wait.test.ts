import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../support/wait.ts'
import { basic, startIngest, writeKey, type IngestServer } from './ingest-server.ts'

/** Who waits at the server. */
const waiting: { deliveryId: string; limitMs: number; gone: AbortSignal }[] = []

let server: IngestServer
beforeAll(async () => {
  server = await startIngest()
  Object.assign(server.port, {
    firstOutcome: (deliveryId: string, limitMs: number, gone: AbortSignal) => {
      waiting.push({ deliveryId, limitMs, gone })
      return new Promise((resolve) => gone.addEventListener('abort', () => resolve(undefined)))
    },
  })
})
afterAll(() => server.app.close())

const send = (messageId: string, signal?: AbortSignal) =>
  fetch(`${server.url}/v1/track?wait=2.5s`, {
    method: 'POST',
    headers: { authorization: basic(writeKey) },
    body: JSON.stringify({ userId: 'u1', event: 'Buy', messageId }),
    signal: signal ?? null,
  })

const isWaiting = (messageId: string) =>
  until('it waits', () => waiting.find(({ deliveryId }) => deliveryId === `event/src_1/${messageId}`))

it('does not wait on for a caller that is gone', async () => {
  const leave = new AbortController()
  const answer = send('leaves', leave.signal).catch(() => 'gone')
  const { limitMs, gone } = await isWaiting('leaves')
  expect({ limitMs, isGone: gone.aborted }).toEqual({ limitMs: 2_500, isGone: false })
  leave.abort()
  expect(await answer).toBe('gone')
  await until('the wait is over', () => gone.aborted)
})

it('does not hold up the end of the server', async () => {
  const answer = send('stays').catch(() => undefined)
  const { gone } = await isWaiting('stays')
  await server.app.close()
  expect(gone.aborted).toBe(true)
  await answer
})
