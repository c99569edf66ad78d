import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import { Client } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CalledOffError, createSender } from '../../src/delivery/send.ts'
import type { Sender } from '../../src/delivery/send.ts'
import { createSocketPool, maxWaitersPerOrigin, PoolSaturatedError } from '../../src/delivery/socket-pool.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Receiver } from '../support/receiver.ts'

const request = { headers: { 'Content-Type': 'application/json' }, body: '{}' }
const allowedNetworks = ['127.0.0.0/8']

describe('connections', () => {
  let receiver: Receiver
  let sender: Sender

  beforeEach(async () => {
    receiver = await startReceiver()
    sender = createSender({ allowedNetworks, maxSocketsPerOrigin: 4 })
  })
  afterEach(async () => {
    await sender.close()
    await receiver.close()
  })

  const send = () => sender.send({ url: receiver.url, ...request })
  const sendMany = (count: number) => Promise.all(Array.from({ length: count }, send))

  it('are reused', async () => {
    for (let round = 0; round < 5; round++) {
      expect(await send()).toMatchObject({ kind: 'delivered' })
      // The body ends after the head: a turn of the event loop later the connection is free again.
      await new Promise((done) => setTimeout(done, 10))
    }
    expect(receiver.connections()).toBe(1)
  })

  it('are bounded per origin, and those who wait get theirs in turn', async () => {
    receiver.answer({ delayMs: 20 })
    const outcomes = await sendMany(40)
    expect(outcomes.filter(({ kind }) => kind === 'delivered')).toHaveLength(40)
    expect(receiver.connections()).toBe(4)
  })

  it('carry nothing of a request that is called off while it waits for one', async () => {
    receiver.answer({ delayMs: 100 })
    const waiting = sendMany(4)
    // It is not, as long as all connections are taken.
    const isCalledOff = () => receiver.requests.length > 0
    const late = sender.send({ url: receiver.url, ...request, body: '"late"', isCalledOff })
    await expect(late).rejects.toThrow(CalledOffError)
    const onNewOne = sender.send({ url: `${receiver.url}/new`, ...request, isCalledOff: () => true })
    await expect(onNewOne).rejects.toThrow(CalledOffError)
    await waiting
    expect(await send()).toMatchObject({ kind: 'delivered' })
    expect(receiver.requests.map(({ body }) => String(body))).toEqual(Array.from({ length: 5 }, () => '{}'))
  })

  it('are replaced while others wait when requests fail', async () => {
    receiver.answer((_request, index) => (index % 2 === 0 ? 'reset' : { status: 200 }))
    const kinds = (await sendMany(40)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'delivered')).toHaveLength(20)
    expect(kinds.filter((kind) => kind === 'unavailable')).toHaveLength(20)
  })

  it('are reused after a failure with a small body, and closed in the middle of a large one', async () => {
    receiver.answer({ status: 500, body: 'x'.repeat(60 * 1024) })
    await send()
    await send()
    expect(receiver.connections()).toBe(1)
    receiver.answer({ status: 500, body: 'x'.repeat(10 * 1024 * 1024) })
    const outcome = await send()
    expect(outcome).toHaveProperty('excerpt', 'x'.repeat(1024))
    await send()
    expect(receiver.connections()).toBe(2)
  })

  it('do not unpack compressed bodies', async () => {
    // 300 KB that would be 300 MB.
    const zeros = Array<Buffer>(300).fill(Buffer.alloc(1024 * 1024))
    const bomb = await buffer(Readable.from(zeros).pipe(createGzip()))
    receiver.answer({ status: 500, headers: { 'content-encoding': 'gzip' }, body: bomb })
    const before = process.memoryUsage().rss
    const outcome = await send()
    expect(outcome).toMatchObject({ kind: 'unavailable', status: 500 })
    expect(outcome).not.toHaveProperty('excerpt')
    receiver.answer({ status: 200, headers: { 'content-encoding': 'gzip' }, body: bomb })
    expect(await send()).toMatchObject({ kind: 'delivered' })
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024)
  })

  it('serve a receiver that closes after every answer', async () => {
    receiver.answer({ headers: { connection: 'close' } })
    const kinds = (await sendMany(12)).map(({ kind }) => kind)
    expect(new Set(kinds)).toEqual(new Set(['delivered']))
  })
})

describe('the socket pool', () => {
  let receivers: Receiver[]

  beforeAll(async () => {
    receivers = await Promise.all([startReceiver(), startReceiver(), startReceiver()])
  })
  afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())))

  it('closes the connections of the origin that was idle for longest, when there are too many origins', async () => {
    const opened = new Map<string, Client>()
    const pool = createSocketPool({
      open: (origin) => {
        const client = new Client(origin)
        opened.set(origin, client)
        return client
      },
      maxSocketsPerOrigin: 2,
      maxOrigins: 2,
    })
    const [a = '', b = '', c = ''] = receivers.map(({ url }) => url)
    for (const origin of [a, b, a, c]) {
      const lease = await pool.lease(origin)
      await (await lease.dispatcher.request({ origin, path: '/', method: 'GET' })).body.dump()
      lease.release(true)
    }
    expect([a, b, c].map((origin) => opened.get(origin)?.destroyed)).toEqual([false, true, false])
    await pool.close()
    expect([a, b, c].map((origin) => opened.get(origin)?.destroyed)).toEqual([true, true, true])
  })

  it('refuses to let more than its bound wait for one origin', async () => {
    const pool = createSocketPool({ open: (origin) => new Client(origin), maxSocketsPerOrigin: 1, maxOrigins: 1 })
    const origin = receivers[0]?.url ?? ''
    const first = await pool.lease(origin)
    const waiting = Promise.allSettled(Array.from({ length: maxWaitersPerOrigin }, async () => pool.lease(origin)))
    await expect(pool.lease(origin)).rejects.toThrow(PoolSaturatedError)
    const closed = pool.close()
    first.release(true)
    await closed
    expect((await waiting).every(({ status }) => status === 'rejected')).toBe(true)
  })
})
