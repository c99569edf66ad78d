/** A call with `wait` is told what the first attempt of its event becomes. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FirstOutcome } from '../../src/schemas/first-outcome.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startSharedParts } from '../support/shared-parts.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

let wayToTemporal: TcpRelay
let node: TestApp
let receiver: Receiver
let source: Source

beforeAll(async () => {
  wayToTemporal = await startTcpRelay(Number(temporalAddress().split(':')[1]))
  node = await startTestApp({ environment: { TEMPORAL_ADDRESS: `127.0.0.1:${wayToTemporal.port}` } })
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await wayToTemporal[Symbol.asyncDispose]()
})
beforeEach(async () => {
  receiver = await startReceiver()
  source = await node.createSource()
})
afterEach(() => receiver.close())

interface Answer {
  success: boolean
  accepted: string[]
  outcome?: FirstOutcome | null
  code?: string
  message?: string
  path?: string
}

/** Sends an event, and waits for its outcome. */
async function send(messageId: string, wait = '10s', at: Pick<TestApp, 'post'> = node, more: object = {}) {
  const call = { userId: 'u1', event: 'Tried', messageId, ...more }
  const { status, body } = await at.post(`/track?wait=${wait}`, source.writeKey, call)
  return { status, body: body as unknown as Answer }
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const outcome = (messageId: string, status: string, attempts: number | null = 1): object => ({
  status: 200,
  body: {
    success: true,
    accepted: [messageId],
    outcome: { status, deliveryId: `event/${source.id}/${messageId}`, attempts },
  },
})

describe('a call that waits is told', () => {
  it('that its event was delivered, and of a repeat the same', async () => {
    await node.connect([source], [receiver.url])
    expect(await send('m1')).toEqual(outcome('m1', 'delivered'))
    expect(receiver.requests).toHaveLength(1)
    expect(await send('m1')).toEqual(outcome('m1', 'delivered'))
    expect(receiver.requests).toHaveLength(1)
  })

  it('that its endpoint is tried again', async () => {
    receiver.answer({ status: 503 })
    await node.connect([source], [receiver.url])
    expect((await send('m1')).body.outcome).toMatchObject({ status: 'retrying' })
  })

  it('that its endpoint refused it for good', async () => {
    receiver.answer({ status: 400 })
    await node.connect([source], [receiver.url])
    expect(await send('m1')).toEqual(outcome('m1', 'failed'))
  })

  it('that it is held, by a destination that is paused', async () => {
    const { id } = await node.connect([source], [receiver.url])
    await node.api('PATCH', `/destinations/${id}`, { paused: true })
    expect(await send('m1')).toEqual(outcome('m1', 'held', 0))
    await node.api('PATCH', `/destinations/${id}`, { paused: false })
    await receiver.received(1)
  })

  it('why it became no delivery', async () => {
    const nothing = (status: string) => ({
      status: 200,
      body: { outcome: { status, deliveryId: null, attempts: null } },
    })
    expect(await send('m1')).toMatchObject(nothing('no_destination'))
    const filter = { events: ['Other'] }
    await node.connect([source], [receiver.url], { filter })
    expect(await send('m2')).toMatchObject(nothing('filtered'))
    await node.api('POST', '/deletion-requests', { userIds: ['gone'], sourceIds: [source.id], suppress: true })
    await until('its user is suppressed', async () => {
      const { body } = await send(`m3-${Math.random()}`, '10s', node, { userId: 'gone' })
      return body.outcome?.status === 'suppressed'
    })
  })

  it('when its time is over, that the attempt is not', async () => {
    receiver.answer('hang')
    // The attempt outlasts the wait by far, however late a busy machine is with either.
    await node.connect([source], [receiver.url], { options: { timeoutSeconds: 30 } })
    const { body } = await send('m1', '3s')
    expect(body.outcome).toMatchObject({ status: 'delivering' })
  })

  it('that it is in the inbox, while Temporal is away, however much garbage is collected meanwhile', async () => {
    await node.connect([source], [receiver.url])
    wayToTemporal.freeze()
    const collecting = setInterval(collectGarbage, 500)
    try {
      expect((await send('m1')).body.outcome).toMatchObject({ status: 'queued', attempts: 0 })
    } finally {
      clearInterval(collecting)
      wayToTemporal.open()
    }
    await receiver.received(1)
  })
})

it('says nothing of the outcome to who does not ask', async () => {
  await node.connect([source], [receiver.url])
  const { body } = await node.post('/track', source.writeKey, { userId: 'u1', event: 'Tried', messageId: 'm1' })
  expect(body).toEqual({ success: true, accepted: ['m1'] })
})

it.each(['11s', '0s', 'soon', '3', '1h', '', '1s&wait=2s'])('refuses a wait of %s, and takes nothing', async (wait) => {
  await node.connect([source], [receiver.url])
  expect(await send('m1', wait)).toEqual({
    status: 400,
    body: {
      success: false,
      code: 'bad_request',
      message: 'wait must be a time of at most 10s, such as 3s or 500ms.',
      path: 'wait',
    },
  })
  await send('m2')
  const [request] = await receiver.received(1)
  expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ messageId: 'm2' })
})

it('refuses to wait for a batch, each of whose events has an outcome of its own', async () => {
  const { status, body } = await node.post('/batch?wait=3s', source.writeKey, { batch: [] })
  expect({ status, body }).toMatchObject({ status: 400, body: { code: 'bad_request', path: 'wait' } })
})

describe.skipIf(findPostgres() === undefined)('a node that only takes events', () => {
  it('tells what another node made of them', { timeout: 240_000 }, async () => {
    await using parts = await startSharedParts()
    const roles = (role: string) => ({ environment: { POSTRIDER_ROLES: role } })
    await using api = await parts.start(roles('api'))
    await using worker = await parts.start(roles('worker'))
    expect(worker.namespace).toBe(api.namespace)
    source = await api.createSource()
    await api.connect([source], [receiver.url])
    const sent = await until('the worker is there', async () => {
      const answer = await send(`m-${Math.random()}`, '10s', api)
      return answer.body.outcome?.status === 'delivered' && answer
    })
    expect(sent.body.outcome).toMatchObject({ status: 'delivered', attempts: 1 })
  })
})
