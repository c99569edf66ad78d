import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LookupAddress } from 'node:dns'
import { createSender } from '../../src/delivery/send.ts'
import type { SenderOptions, SendOutcome } from '../../src/delivery/send.ts'
import type { Lookup } from '../../src/delivery/connect.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Receiver } from '../support/receiver.ts'

const request = { headers: { 'Content-Type': 'application/json' }, body: '{}' }
const ipv4 = (address: string): LookupAddress => ({ address, family: 4 })

/** A resolver whose answers are given in turn; the last one stays. */
const resolverOf = (...answers: LookupAddress[][]): { lookup: Lookup; calls: () => number } => {
  let calls = 0
  return {
    lookup: (_name, _options, callback) => callback(null, answers[Math.min(calls++, answers.length - 1)] ?? []),
    calls: () => calls,
  }
}

const sendOnce = async (url: string, options: SenderOptions): Promise<SendOutcome> => {
  const sender = createSender(options)
  const outcome = await sender.send({ url, ...request })
  await sender.close()
  return outcome
}

describe('addresses that deliveries may go to', () => {
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  it.each([
    '127.0.0.1',
    '127.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '0x7f000001',
    '2130706433',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'api.localhost',
  ])('do not include %s', async (host) => {
    const before = receiver.connections()
    const outcome = await sendOnce(`http://${host}:${receiver.port}/`, { allowedNetworks: [] })
    expect(outcome).toMatchObject({ kind: 'rejected', code: 'forbidden_address', durationMs: 0 })
    expect(receiver.connections()).toBe(before)
  })

  it('do not include what a name resolves to, and the reason names it', async () => {
    const { lookup } = resolverOf([ipv4('127.0.0.1'), { address: '::1', family: 6 }])
    const before = receiver.connections()
    const outcome = await sendOnce(`http://hooks.example:${receiver.port}/`, { allowedNetworks: [], lookup })
    expect(outcome).toMatchObject({ kind: 'rejected', code: 'forbidden_address' })
    expect(outcome).toHaveProperty(
      'reason',
      expect.stringMatching(/hooks\.example.*127\.0\.0\.1 is a loopback address/),
    )
    expect(receiver.connections()).toBe(before)
  })

  it('are the allowed ones alone: 127.0.0.2/32 delivers there and not to 127.0.0.1', async () => {
    await using second = await startReceiver({ host: '127.0.0.2', port: receiver.port })
    const allowedNetworks = ['127.0.0.2/32']
    expect(await sendOnce(second.url, { allowedNetworks })).toMatchObject({ kind: 'delivered' })
    expect(await sendOnce(receiver.url, { allowedNetworks })).toMatchObject({ code: 'forbidden_address' })
    expect(second.requests).toHaveLength(1)
  })

  it('are found among several of a name', async () => {
    await using second = await startReceiver({ host: '127.0.0.2', port: receiver.port })
    const before = receiver.connections()
    const { lookup } = resolverOf([ipv4('127.0.0.1'), ipv4('127.0.0.2')])
    const url = `http://hooks.example:${receiver.port}/`
    expect(await sendOnce(url, { allowedNetworks: ['127.0.0.2/32'], lookup })).toMatchObject({ kind: 'delivered' })
    expect(second.requests[0]?.headers.host).toBe(`hooks.example:${receiver.port}`)
    expect(receiver.connections()).toBe(before)
  })

  it('are all tried before a name counts as refusing', async () => {
    await using second = await startReceiver({ host: '127.0.0.2', port: receiver.port })
    const url = `http://hooks.example:${receiver.port}/`
    const allowedNetworks = ['127.0.0.0/8']
    const found = resolverOf([ipv4('127.0.0.3'), ipv4('127.0.0.2')])
    expect(await sendOnce(url, { allowedNetworks, lookup: found.lookup })).toMatchObject({ kind: 'delivered' })
    const none = resolverOf([ipv4('127.0.0.3'), ipv4('127.0.0.4')])
    expect(await sendOnce(url, { allowedNetworks, lookup: none.lookup })).toMatchObject({ code: 'connection_refused' })
    expect(second.requests).toHaveLength(1)
  })

  it('are checked on the very address that is connected to, whatever the resolver says next', async () => {
    // The first answer stands for the public address that an attacker's name server shows to a check.
    await using harmless = await startReceiver({ host: '127.0.0.2', port: receiver.port })
    const { lookup, calls } = resolverOf([ipv4('127.0.0.2')], [ipv4('127.0.0.1')])
    const before = receiver.connections()
    const sender = createSender({ allowedNetworks: ['127.0.0.2/32'], lookup })
    harmless.answer({ headers: { connection: 'close' } })
    const url = `http://rebinding.example:${receiver.port}/`
    expect(await sender.send({ url, ...request })).toMatchObject({ kind: 'delivered' })
    expect(calls()).toBe(1)
    expect(await sender.send({ url, ...request })).toMatchObject({ kind: 'rejected', code: 'forbidden_address' })
    expect(calls()).toBe(2)
    await sender.close()
    expect(harmless.requests).toHaveLength(1)
    expect(receiver.connections()).toBe(before)
  })

  it('may be IPv6 literals', async () => {
    await using sixth = await startReceiver({ host: '::1' })
    expect(await sendOnce(sixth.url, { allowedNetworks: ['::1/128'] })).toMatchObject({ kind: 'delivered' })
    expect(await sendOnce(sixth.url, { allowedNetworks: ['127.0.0.0/8'] })).toMatchObject({ code: 'forbidden_address' })
  })

  it('may be localhost, by the system’s own resolver', async () => {
    const url = `http://localhost:${receiver.port}/`
    expect(await sendOnce(url, { allowedNetworks: ['127.0.0.0/8'] })).toMatchObject({ kind: 'delivered' })
  })

  it('are asked for once while several connections wait for the same name', async () => {
    let answer = (): void => undefined
    let calls = 0
    const lookup: Lookup = (_name, _options, callback) => {
      calls++
      answer = () => callback(null, [ipv4('127.0.0.1')])
    }
    const sender = createSender({ allowedNetworks: ['127.0.0.0/8'], lookup })
    const url = `http://hooks.example:${receiver.port}/`
    const sends = [1, 2, 3].map(() => sender.send({ url, ...request }))
    await new Promise(setImmediate)
    answer()
    expect((await Promise.all(sends)).map(({ kind }) => kind)).toEqual(['delivered', 'delivered', 'delivered'])
    expect(calls).toBe(1)
    await sender.close()
  })

  it.each(['ftp://example.com/', 'not a url', '//example.com', 'http://user:pw@example.com/', 'file:///etc/passwd'])(
    'are not read from %s',
    async (url) => {
      expect(await sendOnce(url, { allowedNetworks: [] })).toMatchObject({ kind: 'rejected', code: 'invalid_url' })
    },
  )
})
