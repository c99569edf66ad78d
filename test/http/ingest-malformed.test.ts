/** Whatever is sent, the server answers below 500 and goes on serving. */

import fc from 'fast-check'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { basic, post, startIngest, writeKey } from './ingest-server.ts'
import type { IngestServer } from './ingest-server.ts'

let server: IngestServer
beforeAll(async () => {
  server = await startIngest()
})
afterEach(async () => {
  const answer = await post(`${server.url}/v1/track`, { userId: 'u1', event: 'Still there' })
  expect(answer).toMatchObject({ status: 200, body: { success: true } })
  server.port.clear()
})
afterAll(() => server.app.close())

const runs = { numRuns: 150 }
const paths = fc.constantFrom('track', 'i', 'page', 'screen', 'group', 'alias', 'batch', 'import/', 'b', 'm')

async function expectServed(path: string, body: Uint8Array | string, headers: Record<string, string> = {}) {
  const { status, body: answer } = await post(`${server.url}/v1/${path}`, body, headers)
  expect(status === 200 || (status >= 400 && status < 500 && status !== 410)).toBe(true)
  expect(answer.success).toBe(status === 200)
  if (status !== 200)
    expect(answer).toMatchObject({ code: expect.any(String) as string, message: expect.any(String) as string })
}

/** What was accepted must survive being written and read as JSON. */
function expectWritable() {
  for (const { message, messageId } of server.port.events) {
    expect(JSON.parse(JSON.stringify(message))).toMatchObject({ type: message.type, messageId })
    expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThan(600_000)
  }
  server.port.clear()
}

/** Members of a call with every kind of value, right or wrong. */
const value = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    null,
    '',
    'track',
    'alias',
    '\0',
    '\ud800',
    1e308,
    -0,
    2 ** 60,
    '2026-02-30',
    '+275760-09-13',
    utcNow(),
  ),
  fc.object(),
)
function utcNow() {
  return new Date().toISOString()
}
const members = [
  'type',
  'userId',
  'anonymousId',
  'groupId',
  'previousId',
  'messageId',
  'event',
  'name',
  'category',
  'properties',
  'traits',
  'context',
  'integrations',
  'timestamp',
  'originalTimestamp',
  'sentAt',
  'writeKey',
  'batch',
  '__proto__',
  'constructor',
  'toString',
]
const event = fc.dictionary(fc.constantFrom(...members), value)
const plausible = fc.record(
  {
    type: fc.constantFrom('track', 'page', 'identify', 'alias'),
    userId: value,
    event: value,
    properties: fc.object(),
    timestamp: value,
  },
  { requiredKeys: ['type'] },
)

it('any JSON', async () => {
  await fc.assert(
    fc.asyncProperty(paths, fc.json(), async (path, json) => {
      await expectServed(path, json)
      expectWritable()
    }),
    runs,
  )
})

it('calls and batches with members of every kind', async () => {
  const items = fc.array(fc.oneof(event, plausible, value), { maxLength: 10 })
  const batch = fc.record(
    { batch: items, context: value, integrations: value, sentAt: value },
    { requiredKeys: ['batch'] },
  )
  await fc.assert(
    fc.asyncProperty(paths, fc.oneof(event, plausible, batch), async (path, body) => {
      await expectServed(path, JSON.stringify(body))
      expectWritable()
    }),
    { numRuns: 400 },
  )
})

it('any bytes, as they are or said to be compressed', async () => {
  const encoding = fc.constantFrom<Record<string, string>>(
    {},
    { 'content-encoding': 'gzip' },
    { 'content-encoding': 'deflate' },
    { 'content-encoding': 'gzip, gzip' },
    { 'content-encoding': 'zstd' },
  )
  await fc.assert(
    fc.asyncProperty(paths, fc.uint8Array({ maxLength: 2_000 }), encoding, (path, bytes, headers) =>
      expectServed(path, bytes, headers),
    ),
    runs,
  )
})

it('gzip that is cut short or damaged', async () => {
  const whole = gzipSync(
    JSON.stringify({ batch: [{ type: 'track', userId: 'u1', event: 'Buy', properties: { text: 'x'.repeat(500) } }] }),
  )
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 }), fc.boolean(), async (at, byte, cut) => {
      const data = Buffer.from(whole)
      data[at] = byte
      await expectServed('batch', cut ? data.subarray(0, at) : data, { 'content-encoding': 'gzip' })
    }),
    runs,
  )
})

it('any headers', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'abzAZ09 ;:,/=*"%+-_.') })
  const name = fc.constantFrom(
    'authorization',
    'content-type',
    'content-encoding',
    'origin',
    'user-agent',
    'x-forwarded-for',
    'x-retry-count',
    'accept',
    'accept-version',
    'cookie',
  )
  const basicOf = fc.string({ unit: 'binary' }).map((user) => `Basic ${Buffer.from(user).toString('base64')}`)
  const headers = fc.dictionary(name, fc.oneof(text, basicOf))
  await fc.assert(
    fc.asyncProperty(paths, headers, (path, given) =>
      expectServed(path, '{"userId":"u1","event":"Buy","batch":[]}', given),
    ),
    runs,
  )
})

it.each([
  ['nesting of 250,000 arrays', '['.repeat(250_000) + ']'.repeat(250_000)],
  [
    'nesting of 40,000 objects',
    '{"userId":"u1","event":"e","properties":' + '{"a":'.repeat(40_000) + '1' + '}'.repeat(40_001),
  ],
  [
    'deep nesting in a small call',
    '{"userId":"u1","event":"e","type":"track","properties":' + '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_001),
  ],
  [
    'deep nesting in the batch’s context',
    '{"batch":[{"type":"track","userId":"u","event":"e"}],"context":' + '{"a":'.repeat(9_000) + '1' + '}'.repeat(9_001),
  ],
  ['deep nesting without an end', '{"a":['.repeat(80_000)],
  ['a number of 30,000 digits as id', `{"event":"e","userId":${'9'.repeat(30_000)}}`],
  ['a number beyond all numbers', '{"userId":"u1","event":"e","properties":{"n":1e99999,"m":-1e-99999}}'],
  [
    '__proto__ everywhere',
    '{"__proto__":{"userId":"x"},"userId":"u1","event":"e","context":{"__proto__":{"direct":true}},"integrations":{"__proto__":{"All":false}},"properties":{"constructor":{"prototype":1}}}',
  ],
  [
    'invalid UTF-8',
    Buffer.concat([Buffer.from('{"userId":"u1","event":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
  ],
  ['UTF-16', Buffer.from('{"userId":"u1"}', 'utf16le')],
  ['40,000 members', JSON.stringify(Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`k${n}`, n])))],
])('%s', async (_name, body) => {
  for (const path of ['track', 'batch']) await expectServed(path, body)
  expectWritable()
})

/** Writes `text` to a fresh connection and gives what comes back until the server ends it or has answered. */
function exchange(text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.end(text))
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    socket.on('close', () => resolve(received))
    // A reset ends the exchange as well; 'close' follows.
    socket.on('error', () => undefined)
  })
}

it.each([
  ['a body that ends early', 'POST /v1/track HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"userId"'],
  ['a chunk that ends early', 'POST /v1/track HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{'],
  ['a malformed chunk', 'POST /v1/track HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n'],
  ['a malformed header', 'POST /v1/track HTTP/1.1\r\nHost: a\r\nno header\r\n\r\n'],
  ['headers without end', `POST /v1/track HTTP/1.1\r\nHost: a\r\n${'X-Long: '.padEnd(100_000, 'x')}\r\n\r\n`],
  ['no HTTP', '\u0016\u0003\u0001 hello\r\n\r\n'],
])('%s on the wire', async (_name, text) => {
  const received = await exchange(text)
  expect(received).not.toMatch(/^HTTP\/1\.1 5/)
})

it('chunked bodies are read as well', async () => {
  const json = '{"userId":"u1","event":"Buy"}'
  const received = await exchange(
    `POST /v1/track HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: ${basic(writeKey)}\r\nTransfer-Encoding: chunked\r\n\r\n` +
      `${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`,
  )
  expect(received).toMatch(/^HTTP\/1\.1 200 /)
})
