import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createSender, type SendAbortedError } from '../../src/delivery/send.ts'
import type { Sender, SenderOptions, SendOutcome } from '../../src/delivery/send.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Receiver } from '../support/receiver.ts'

const request = { headers: { 'Content-Type': 'application/json' }, body: '{}' }
const expectTimeout = (outcome: SendOutcome, timeoutMs: number): void => {
  expect(outcome).toMatchObject({ kind: 'unavailable', code: 'timeout' })
  expect(outcome.durationMs).toBeGreaterThanOrEqual(timeoutMs - 2)
}

/** Those that had one connection after the other did not have it at the same time.
 *  @param elapsedMs  from before the first was sent until all were through */
const expectOneAfterTheOther = (outcomes: SendOutcome[], elapsedMs: number): void => {
  const roundingMs = outcomes.length
  expect(outcomes.reduce((sum, { durationMs }) => sum + durationMs, 0)).toBeLessThanOrEqual(elapsedMs + roundingMs)
}

describe('the time limit', () => {
  let receiver: Receiver
  const senders: Sender[] = []
  const senderWith = (options: Partial<SenderOptions>): Sender => {
    const sender = createSender({ allowedNetworks: ['127.0.0.0/8'], ...options })
    senders.push(sender)
    return sender
  }

  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(async () => {
    await Promise.all(senders.map((sender) => sender.close()))
    await receiver.close()
  })

  it('is 5 seconds', async () => {
    receiver.answer('hang')
    expectTimeout(await senderWith({}).send({ url: receiver.url, ...request }), 5000)
  })

  it('counts an answer before its end, and none after it', async () => {
    const sender = senderWith({ timeoutMs: 2_000 })
    receiver.answer({ delayMs: 500 })
    expect(await sender.send({ url: receiver.url, ...request })).toMatchObject({ kind: 'delivered' })
    receiver.answer({ delayMs: 2_500 })
    expectTimeout(await sender.send({ url: receiver.url, ...request }), 2_000)
  })

  it('begins anew when this process stood still for longer than it lasts: the request may have gone out only then', async () => {
    const answering = spawn(process.execPath, [
      '-e',
      `const http = require('node:http')
       let requests = 0
       const server = http.createServer((request, response) => setTimeout(() => response.end(String(++requests)), 150))
       server.listen(0, '127.0.0.1', () => console.log(server.address().port))`,
    ])
    onTestFinished(() => void answering.kill())
    const [port] = (await once(answering.stdout, 'data')) as [Buffer]
    const sending = senderWith({ timeoutMs: 1_000 }).send({
      url: `http://127.0.0.1:${String(port).trim()}`,
      ...request,
    })
    await new Promise(setImmediate)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000)
    expect(await sending).toMatchObject({ kind: 'delivered' })
  })

  it('covers a head that does not end', async () => {
    receiver.answer({ raw: Buffer.from('HTTP/1.1 200 OK\r\nx-a: b\r\n') })
    expectTimeout(await senderWith({ timeoutMs: 400 }).send({ url: receiver.url, ...request }), 400)
  })

  it('covers the name look-up', async () => {
    const sender = senderWith({ timeoutMs: 400, lookup: () => undefined })
    expectTimeout(await sender.send({ url: 'http://slow.example/', ...request }), 400)
  })

  it('covers look-up, connect and answer together', async () => {
    const sender = senderWith({
      timeoutMs: 700,
      lookup: (_name, _options, answer) => setTimeout(answer, 400, null, [{ address: '127.0.0.1', family: 4 }]),
    })
    receiver.answer({ delayMs: 600 })
    expectTimeout(await sender.send({ url: `http://slow.example:${receiver.port}/`, ...request }), 700)
  })

  it('covers the TLS handshake', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    expectTimeout(await senderWith({ timeoutMs: 400 }).send({ url: `https://127.0.0.1:${port}/`, ...request }), 400)
    silent.close()
  })

  it('does not count the wait for a free connection', async () => {
    const sender = senderWith({ timeoutMs: 2_000, maxSocketsPerOrigin: 1 })
    receiver.answer({ delayMs: 700 })
    const startedAt = performance.now()
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => sender.send({ url: receiver.url, ...request })))
    expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', 'delivered', 'delivered', 'delivered'])
    expectOneAfterTheOther(outcomes, performance.now() - startedAt)
  })

  it('does not count that wait into the duration of a failure', async () => {
    const sender = senderWith({ timeoutMs: 400, maxSocketsPerOrigin: 1 })
    receiver.answer('hang')
    const startedAt = performance.now()
    const outcomes = await Promise.all([1, 2, 3].map(() => sender.send({ url: receiver.url, ...request })))
    for (const outcome of outcomes) expectTimeout(outcome, 400)
    expectOneAfterTheOther(outcomes, performance.now() - startedAt)
  })

  it('runs for each request from its own beginning', async () => {
    const sender = senderWith({ timeoutMs: 400 })
    receiver.answer('hang')
    const outcomes = [0, 150, 300].map(async (afterMs) => {
      await sleep(afterMs)
      return sender.send({ url: receiver.url, ...request })
    })
    for (const outcome of await Promise.all(outcomes)) expectTimeout(outcome, 400)
    // One that was answered leaves the limits of the others as they are.
    receiver.answerInTurn({ status: 200 }, 'hang')
    expect(await sender.send({ url: receiver.url, ...request })).toMatchObject({ kind: 'delivered' })
    expectTimeout(await sender.send({ url: receiver.url, ...request }), 400)
  })

  it('takes a slow body for an answer', async () => {
    const sender = senderWith({ timeoutMs: 400 })
    receiver.answer({ status: 200, body: 'thank', bodyDelayMs: 60_000 })
    const delivered = await sender.send({ url: receiver.url, ...request })
    expect(delivered).toMatchObject({ kind: 'delivered', status: 200 })
    receiver.answer({ status: 500, body: 'something broke', bodyDelayMs: 60_000 })
    const failed = await sender.send({ url: receiver.url, ...request })
    expect(failed).toMatchObject({ kind: 'unavailable', status: 500, excerpt: 'something broke' })
  })

  it('leaves nothing on the connection of a late answer: the next request has one of its own', async () => {
    const sender = senderWith({ timeoutMs: 300, maxSocketsPerOrigin: 1 })
    receiver.answerInTurn({ status: 404, delayMs: 500 }, { status: 200 })
    expectTimeout(await sender.send({ url: receiver.url, ...request }), 300)
    expect(await sender.send({ url: receiver.url, ...request })).toMatchObject({ kind: 'delivered' })
    const [late, next] = receiver.requests.slice(-2)
    expect(next?.connection).not.toBe(late?.connection)
  })
})

describe('cancelling', () => {
  const aborted = expect.objectContaining({ name: 'AbortError' }) as Error

  it('ends a running request, one that connects, and one that waits for a connection', async () => {
    await using receiver = await startReceiver()
    receiver.answer('hang')
    const sender = createSender({ allowedNetworks: ['127.0.0.0/8'], maxSocketsPerOrigin: 1, lookup: () => undefined })
    const cancel = new AbortController()
    const running = sender.send({ url: receiver.url, ...request }, cancel.signal)
    const waiting = sender.send({ url: receiver.url, ...request }, cancel.signal)
    const connecting = sender.send({ url: 'http://slow.example/', ...request }, cancel.signal)
    const ends = Promise.allSettled([running, waiting, connecting])
    await receiver.received(1)
    cancel.abort(new Error('operator said stop'))
    const isBegunOf = (await ends).map((end) => end.status === 'rejected' && (end.reason as SendAbortedError).isBegun)
    expect(await ends).toEqual(Array(3).fill({ status: 'rejected', reason: aborted }))
    expect(isBegunOf).toEqual([true, false, true])
    const late = sender.send({ url: receiver.url, ...request }, cancel.signal)
    await expect(late).rejects.toMatchObject({ name: 'AbortError', isBegun: false })
    await sender.close()
    expect(receiver.requests).toHaveLength(1)
  })

  it('lets requests under way finish when the sender closes', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ delayMs: 200 })
    const sender = createSender({ allowedNetworks: ['127.0.0.0/8'] })
    const running = sender.send({ url: receiver.url, ...request })
    await receiver.received(1)
    await sender.close()
    expect(await running).toMatchObject({ kind: 'delivered' })
  })
})
