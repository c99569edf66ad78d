import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import { Pool } from 'undici'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { CalledOffError, createSender } from '../../src/delivery/send.ts'
import type { Sender } from '../../src/delivery/send.ts'
import { createConnections, maxWaitingPerOrigin, OriginSaturatedError } from '../../src/delivery/connections.ts'
import { findFreePorts } from '../../src/ports.ts'
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

  /** An answer is told before its connection is free again, a turn of the event loop later. */
  const untilFree = () => new Promise((done) => setTimeout(done, 10))

  it('are reused', async () => {
    for (let round = 0; round < 5; round++) {
      expect(await send()).toMatchObject({ kind: 'delivered' })
      await untilFree()
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

  it('to an origin that refuses them are no longer counted once it has', async () => {
    const [port] = await findFreePorts('127.0.0.1', 1)
    const url = `http://127.0.0.1:${port}`
    for (let round = 0; round < 3; round++) {
      const outcomes = await Promise.all(Array.from({ length: 40 }, () => sender.send({ url, ...request })))
      expect(new Set(outcomes.map((outcome) => 'code' in outcome && outcome.code))).toEqual(
        new Set(['connection_refused']),
      )
    }
  })

  it('are reused after a failure with a small body, and closed in the middle of a large one', async () => {
    receiver.answer({ status: 500, body: 'x'.repeat(60 * 1024) })
    await send()
    await untilFree()
    await send()
    expect(receiver.connections()).toBe(1)
    await untilFree()
    receiver.answer({ status: 500, body: 'x'.repeat(10 * 1024 * 1024) })
    const outcome = await send()
    expect(outcome).toHaveProperty('excerpt', 'x'.repeat(1024))
    await untilFree()
    await send()
    const [large, next] = receiver.requests.slice(-2)
    expect(next?.connection).not.toBe(large?.connection)
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

  it('are new ones after this process stood still: meanwhile receivers close those that they kept', async () => {
    const closing = spawn(process.execPath, [
      '-e',
      `const http = require('node:http')
       const server = http.createServer((request, response) => {
         response.end()
         setTimeout(() => request.socket.end(), 1_000)
       })
       server.keepAliveTimeout = 0
       server.listen(0, '127.0.0.1', () => console.log(server.address().port))`,
    ])
    onTestFinished(() => void closing.kill())
    const [port] = (await once(closing.stdout, 'data')) as [Buffer]
    const sendTo = () => sender.send({ url: `http://127.0.0.1:${String(port).trim()}`, ...request })
    expect(await sendTo()).toMatchObject({ kind: 'delivered' })
    await untilFree()
    // What comes of this read comes among other events of the network and the disk: requests that begin there go out before the next ones are
    // looked for, and so before it is seen that a connection was closed.
    await readFile(import.meta.filename)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000)
    const outcomes = await Promise.all([sendTo(), sendTo()])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', 'delivered'])
  })

  it('serve a receiver that closes after every answer', async () => {
    receiver.answer({ headers: { connection: 'close' } })
    const kinds = (await sendMany(12)).map(({ kind }) => kind)
    expect(new Set(kinds)).toEqual(new Set(['delivered']))
  })
})

describe('the pools of origins', () => {
  const origins = ['http://127.0.0.1:1', 'http://127.0.0.1:2', 'http://127.0.0.1:3']
  const [a = '', b = '', c = ''] = origins

  it('are closed when there are too many: the one that was not used for longest, when its requests are over', async () => {
    const opened = new Map<string, Pool>()
    const connections = createConnections({
      open: (origin) => {
        const pool = new Pool(origin)
        opened.set(origin, pool)
        return pool
      },
      maxPerOrigin: 2,
      maxOrigins: 2,
    })
    const areDestroyed = () => origins.map((origin) => opened.get(origin)?.destroyed)
    connections.use(a, 5_000).done()
    const lasting = connections.use(b, 5_000)
    for (const origin of [a, c]) connections.use(origin, 5_000).done()
    expect(areDestroyed()).toEqual([false, false, false])
    lasting.done()
    expect(areDestroyed()).toEqual([false, true, false])
    await connections.close()
    expect(areDestroyed()).toEqual([true, true, true])
  })

  it('let no more than their bound wait', async () => {
    const connections = createConnections({ open: (origin) => new Pool(origin), maxPerOrigin: 1, maxOrigins: 1 })
    const uses = Array.from({ length: 1 + maxWaitingPerOrigin }, () => connections.use(a, 5_000))
    expect(uses.map(({ isFree }) => isFree).indexOf(false)).toBe(1)
    expect(() => connections.use(a, 5_000)).toThrow(OriginSaturatedError)
    const closed = connections.close()
    for (const { done } of uses) done()
    await closed
  })

  it('are as they were when one cannot be opened', async () => {
    let isBroken = true
    const connections = createConnections({
      open: (origin) => {
        if (isBroken) throw new Error('broken')
        return new Pool(origin)
      },
      maxPerOrigin: 1,
      maxOrigins: 1,
    })
    for (let n = 0; n < 3; n++) expect(() => connections.use(a, 5_000)).toThrow('broken')
    isBroken = false
    const { isFree, done } = connections.use(a, 5_000)
    expect(isFree).toBe(true)
    done()
    await connections.close()
  })
})
