/** Symptom: sockets, and up to 512 KB each, are held for ever by clients that begin a request and do not end it.
 *  Cause: neither requests nor connections had a bound.
 *  Consequence: a few thousand slow clients take a node's memory and file handles. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Audience } from '../../src/schemas/audience.ts'
import type { Source } from '../../src/schemas/source.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { chunk, head, lastChunk, openRawClient, type RawClient } from '../support/raw-client.ts'
import { until } from '../support/wait.ts'

const clients = 2_000
/** Connections that are opened at a time: the system's queue for new ones takes some hundred. */
const groupSize = 100
const bodyPart = 100_000
const requestTimeoutMs = 3_000

let node: TestApp
let source: Source
beforeAll(async () => {
  node = await startTestApp({ environment: { POSTRIDER_REQUEST_TIMEOUT: `${requestTimeoutMs}ms` } })
  source = await node.createSource()
})
afterAll(() => node[Symbol.asyncDispose]())

const track = async (): Promise<number> =>
  (await node.post('/track', source.writeKey, { userId: 'u', event: 'Normal' })).status

const isTimeout = ({ answer }: RawClient): boolean =>
  answer.startsWith('HTTP/1.1 408') && answer.includes('"code":"request_timeout"')

it(`${clients} slow clients are ended with 408 and keep no one out`, async () => {
  const part = Buffer.alloc(bodyPart, ' ')
  const slow: RawClient[] = []
  const openOne = () => openRawClient(node.url, head('POST', '/v1/batch', ['Content-Length: 400000']), part)
  for (let opened = 0; opened < clients; opened += groupSize)
    slow.push(...(await Promise.all(Array.from({ length: groupSize }, openOne))))
  expect(await track()).toBe(200)
  await until('all are ended', () => slow.every(({ isClosed }) => isClosed), 30_000)
  expect(slow.filter((client) => !isTimeout(client)).map(({ answer }) => answer)).toEqual([])
  expect(await track()).toBe(200)
})

describe.concurrent('a request', () => {
  it('whose headers do not end is ended with 408', async () => {
    const client = await openRawClient(node.url, 'POST /v1/track HTTP/1.1\r\nHost: node\r\nX-Slow:')
    await until('it is ended', () => client.isClosed)
    expect(isTimeout(client)).toBe(true)
  })

  it('with little of its body at a time is ended with 408', async () => {
    const client = await openRawClient(node.url, head('POST', '/v1/track', ['Content-Length: 400000']))
    await until('it is ended', () => {
      client.socket.write(' ')
      return client.isClosed
    })
    expect(isTimeout(client)).toBe(true)
  })

  it('that uploads members takes as long as something of it comes', async () => {
    const { body } = await node.api<Audience>('POST', '/audiences', {
      name: 'Slow',
      destinationIds: [],
      membership: { kind: 'push' },
    })
    const lines = [
      `Authorization: Bearer ${adminToken}`,
      'Content-Type: application/x-ndjson',
      'Transfer-Encoding: chunked',
    ]
    const client = await openRawClient(node.url, head('PUT', `/api/v1/audiences/${body.id}/members`, lines))
    const end = performance.now() + 2 * requestTimeoutMs
    let index = 0
    await until('twice the time has passed', () => {
      client.socket.write(chunk(`${JSON.stringify({ userId: `u${index++}` })}\n`))
      return performance.now() > end
    })
    client.socket.write(lastChunk)
    await until('it is answered', () => client.answer !== '' || client.isClosed)
    expect(client.answer).toMatch(/^HTTP\/1\.1 202 /)
    client.socket.destroy()
  })
})

describe('a node that takes a bounded number of connections', () => {
  const maxConnections = 20
  let bounded: TestApp
  beforeAll(async () => {
    bounded = await startTestApp({ environment: { POSTRIDER_MAX_CONNECTIONS: String(maxConnections) } })
  })
  afterAll(() => bounded[Symbol.asyncDispose]())

  /** Connects, and sends all of the request but the last `missing` bytes of its body. The connection ends with the answer:
   *  one that `fetch` kept open would count too. */
  const send = (path: string, authorization: string, body: string, missing = 0): Promise<RawClient> => {
    const lines = [
      `Authorization: ${authorization}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]
    return openRawClient(
      bounded.url,
      head('POST', path, [...lines, 'Connection: close']),
      body.slice(0, body.length - missing),
    )
  }
  const answerTo = async (client: RawClient): Promise<string> => {
    await until('it is ended', () => client.isClosed)
    return client.answer
  }

  it('turns further ones away at once, serves those it has, and takes another for each that ends', async () => {
    const created = await answerTo(await send('/api/v1/sources', `Bearer ${adminToken}`, '{"name":"Bounded"}'))
    const { writeKey } = JSON.parse(created.slice(created.indexOf('\r\n\r\n'))) as Source
    const key = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`
    const event = JSON.stringify({ userId: 'u', event: 'Normal' })
    const rest = event.slice(-5)
    const track = async (): Promise<string> => answerTo(await send('/v1/track', key, event))
    const sendSlowly = (count: number): Promise<RawClient[]> =>
      Promise.all(Array.from({ length: count }, () => send('/v1/track', key, event, rest.length)))

    const slow = await sendSlowly(maxConnections)
    const silent = await Promise.all(Array.from({ length: 5 }, () => openRawClient(bounded.url)))
    const further = await sendSlowly(5)
    await until('the further ones are ended', () => [...silent, ...further].every(({ isClosed }) => isClosed))
    for (const { answer } of silent) {
      expect(answer).toMatch(/^HTTP\/1\.1 503 /)
      expect(answer).toContain('Retry-After: 5')
      expect(answer).toContain('"code":"unavailable"')
    }
    // The system drops the answer where there are bytes that nobody read.
    for (const answer of [...further.map((client) => client.answer), await track()])
      expect(answer).toMatch(/^(HTTP\/1\.1 503 |$)/)
    expect(slow.filter(({ isClosed, answer }) => isClosed || answer !== '')).toEqual([])

    const [first, ...others] = slow
    first?.socket.write(rest)
    await until('there is room', async () => (await track()).startsWith('HTTP/1.1 200 '))
    for (const { socket } of others) socket.write(rest)
    for (const client of slow) expect(await answerTo(client)).toMatch(/^HTTP\/1\.1 200 /)
  })
})
