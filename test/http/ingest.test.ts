import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { maxBatchEvents, maxCallBytes, maxRequestBytes } from '../../src/ingest/limits.ts'
import { basic, disabledKey, lonelyKey, post, startIngest, suppressedUser, writeKey } from './ingest-server.ts'
import type { IngestServer } from './ingest-server.ts'

let server: IngestServer
beforeAll(async () => {
  server = await startIngest()
})
afterEach(() => server.port.clear())
afterAll(() => server.app.close())

const call = (path: string, body: unknown, headers?: Record<string, string>) => post(server.url + path, body, headers)
const track = { type: 'track', userId: 'u1', event: 'Buy', messageId: 'm1' }
/** A track call whose compact JSON has exactly `bytes` bytes. */
const trackOf = (bytes: number) => {
  const empty = { ...track, properties: { text: '' } }
  return { ...track, properties: { text: 'x'.repeat(bytes - JSON.stringify(empty).length) } }
}

describe('a single call', () => {
  it('is answered with its messageId and accepted with body and targets', async () => {
    const answer = await call('/v1/track', track)
    expect(answer).toMatchObject({ status: 200, body: { success: true, accepted: ['m1'] } })
    expect(Object.keys(answer.body)).toEqual(['success', 'accepted'])
    const target = { destinationId: 'dst_1', endpointIds: ['ep_1', 'ep_2'], successPolicy: 'any' }
    expect(server.port.events).toMatchObject([{ sourceId: 'src_1', messageId: 'm1', userId: 'u1', targets: [target] }])
    expect(server.port.events[0]?.targets[0]).toEqual(target)
    expect(server.port.counts).toEqual({ 'accepted src_1': 1 })
  })

  it('gets a messageId where it has none', async () => {
    const { body } = await call('/v1/track', { userId: 'u1', event: 'Buy', messageId: null })
    expect(body.accepted).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(server.port.bodies()[0]).toMatchObject({ messageId: body.accepted?.[0] })
  })

  it.each([
    ['track', 't'],
    ['page', 'p'],
    ['screen', 's'],
    ['identify', 'i'],
    ['group', 'g'],
    ['alias', 'a'],
  ])('of type %s is taken on its path and on /v1/%s, with trailing and double slashes', async (type, short) => {
    const sent = { userId: 'u1', event: 'e', groupId: 'g', previousId: 'p' }
    for (const path of [`/v1/${type}`, `/v1/${type}/`, `/v1/${short}`, `/v1/${short}/`, `//v1/${type}`]) {
      expect(await call(path, sent)).toMatchObject({ status: 200 })
    }
    expect(server.port.bodies().map((body) => body['type'])).toEqual(Array(5).fill(type))
  })

  it('names the member at fault', async () => {
    expect(await call('/v1/track', { userId: 'u1' })).toMatchObject({
      status: 400,
      body: {
        success: false,
        code: 'event_not_defined',
        path: 'event',
        message: expect.stringContaining('event') as string,
      },
    })
    expect(server.port.counts).toEqual({ 'rejected event_not_defined src_1': 1 })
  })

  it('has at most 32,768 bytes', async () => {
    expect(await call('/v1/track', trackOf(maxCallBytes))).toMatchObject({ status: 200 })
    expect(await call('/v1/track', trackOf(maxCallBytes + 1))).toMatchObject({
      status: 400,
      body: { code: 'call_too_large' },
    })
  })

  it('gets its time corrected by sentAt and written in UTC with milliseconds', async () => {
    const day = 86_400_000
    const sentAt = new Date(Date.now() - day)
    const timestamp = new Date(sentAt.getTime() - 60_000)
    await call('/v1/track', { ...track, timestamp: timestamp.toISOString(), sentAt: sentAt.toISOString() })
    await call('/v1/track', { ...track, timestamp: '2011-11-21T12:48:23+0530' })
    const [corrected, kept] = server.port.bodies().map((body) => String(body['timestamp']))
    expect(Math.abs(Date.parse(corrected ?? '') - (timestamp.getTime() + day))).toBeLessThan(30_000)
    expect(kept).toBe('2011-11-21T07:18:23.000Z')
  })

  it('gets context.ip where it asks for it or a browser sends it, unless it has one', async () => {
    await call('/v1/track', track)
    await call('/v1/track', { ...track, context: { direct: true } })
    await call('/v1/track', track, { origin: 'https://shop.example' })
    await call('/v1/track', track, { 'user-agent': 'Mozilla/5.0 (X11)' })
    await call('/v1/track', { ...track, context: { ip: '0.0.0.0' } }, { origin: 'https://shop.example' })
    const ip = '127.0.0.1'
    expect(server.port.bodies().map((body) => body['context'])).toEqual([
      {},
      { direct: true, ip },
      { ip },
      { ip },
      { ip: '0.0.0.0' },
    ])
  })
})

describe('the write key', () => {
  it('is taken from Basic with or without colon, from the body, or both alike', async () => {
    const without = { authorization: '' }
    expect(await call('/v1/t', track, { authorization: `Basic ${btoa(writeKey)}` })).toMatchObject({ status: 200 })
    expect(await call('/v1/t', { ...track, writeKey }, without)).toMatchObject({ status: 200 })
    expect(await call('/v1/b', { batch: [track], writeKey }, without)).toMatchObject({ status: 200 })
    expect(await call('/v1/t', { ...track, writeKey })).toMatchObject({ status: 200 })
    expect(JSON.stringify(server.port.bodies())).not.toContain(writeKey)
  })

  it.each([
    ['unknown', { authorization: basic('nobody') }, {}, 'unknown_write_key', 'rejected unknown_write_key'],
    ['missing', { authorization: '' }, {}, 'unknown_write_key', 'rejected unknown_write_key'],
    ['not a string', { authorization: '' }, { writeKey: 7 }, 'unknown_write_key', 'rejected unknown_write_key'],
    ['another in the body', {}, { writeKey: 'other' }, 'unknown_write_key', 'rejected unknown_write_key'],
    ['switched off', { authorization: basic(disabledKey) }, {}, 'source_disabled', 'rejected source_disabled src_2'],
    [
      'named like a member of every object',
      { authorization: basic('__proto__') },
      {},
      'unknown_write_key',
      'rejected unknown_write_key',
    ],
  ])('that is %s is answered 401 and counted', async (_case, headers, members, code, counted) => {
    const answers = [
      await call('/v1/t', { ...track, ...members }, headers),
      await call('/v1/b', { batch: [track, track], ...members }, headers),
    ]
    for (const answer of answers) expect(answer).toMatchObject({ status: 401, body: { success: false, code } })
    expect(server.port.counts).toEqual({ [counted]: 3 })
    expect(server.port.events).toEqual([])
  })

  it('that is unknown or switched off is answered 200 and dropped under lenient auth', async () => {
    const lenient = await startIngest({ lenientAuth: true })
    try {
      const url = `${lenient.url}/v1/batch`
      for (const key of ['nobody', disabledKey]) {
        const answer = await post(url, { batch: [track, track] }, { authorization: basic(key) })
        expect(answer).toMatchObject({ status: 200, body: { success: true, accepted: [] } })
      }
      expect(lenient.port.counts).toEqual({ 'dropped unknown_write_key': 2, 'dropped source_disabled src_2': 2 })
      expect(lenient.port.events).toEqual([])
      expect(await post(url, { batch: [track], writeKey: 'other' })).toMatchObject({ status: 401 })
    } finally {
      await lenient.app.close()
    }
  })
})

describe('a batch', () => {
  it('takes its good items and lists the others', async () => {
    const answer = await call('/v1/batch', {
      batch: [
        track,
        { ...track, event: null, messageId: 'm2' },
        'text',
        { ...track, messageId: 'm4' },
        { ...track, messageId: { no: 'id' } },
      ],
    })
    expect(answer).toMatchObject({ status: 200, body: { success: true, accepted: ['m1', 'm4'] } })
    expect(answer.body.rejected).toEqual([
      {
        index: 1,
        messageId: 'm2',
        code: 'event_not_defined',
        message: 'batch[1].event is missing: a track call names its event.',
      },
      { index: 2, messageId: null, code: 'bad_request', message: 'batch[2] must be an object.' },
      {
        index: 4,
        messageId: null,
        code: 'id_not_string',
        message: expect.stringMatching(/^batch\[4\]\.messageId must be/) as string,
      },
    ])
    expect(server.port.events.map(({ messageId }) => messageId)).toEqual(['m1', 'm4'])
    expect(server.port.counts).toEqual({
      'accepted src_1': 2,
      'rejected event_not_defined src_1': 1,
      'rejected bad_request src_1': 1,
      'rejected id_not_string src_1': 1,
    })
  })

  it('without a good item is 400 with the reasons', async () => {
    const answer = await call('/v1/import', { batch: [{ type: 'track', userId: 'u1' }, 1] })
    expect(answer).toMatchObject({
      status: 400,
      body: {
        success: false,
        code: 'event_not_defined',
        message: expect.stringContaining('batch[0].event') as string,
        rejected: [{ index: 0 }, { index: 1 }],
      },
    })
  })

  it.each([[[]], [null]])('of %j is answered 200', async (batch) => {
    expect(await call('/v1/batch', { batch })).toMatchObject({ status: 200, body: { success: true, accepted: [] } })
  })

  it.each([
    [{}, 'empty_batch'],
    [{ batch: {} }, 'bad_request'],
    [{ batch: [track], context: [] }, 'context_not_object'],
    [[], 'bad_request'],
    ['"text"', 'bad_request'],
  ])('%j is answered 400 %s', async (body, code) => {
    expect(await call('/v1/batch', body)).toMatchObject({ status: 400, body: { success: false, code } })
  })

  it('lends its context, integrations and sentAt to its items, whose own win', async () => {
    await call('/v1/batch', {
      context: { library: { name: 'go' }, locale: 'en' },
      integrations: { Webhooks: false },
      batch: [
        { ...track, context: { locale: 'de' }, integrations: { Webhooks: true } },
        { type: 'alias', userId: 'u', previousId: 'p', integrations: { Webhooks: {} } },
        { ...track, messageId: 'filtered' },
      ],
    })
    expect(server.port.bodies().map((body) => body['context'])).toEqual([
      { library: { name: 'go' }, locale: 'de' },
      { library: { name: 'go' }, locale: 'en' },
    ])
    expect(server.port.counts).toEqual({ 'accepted src_1': 2, 'filtered src_1': 1 })
  })

  it('refuses only the items that are larger than 32,768 bytes or nested too deep', async () => {
    const answer = await call('/v1/batch', {
      batch: [trackOf(maxCallBytes), trackOf(maxCallBytes + 1)],
    })
    expect(answer.body).toMatchObject({ accepted: ['m1'], rejected: [{ index: 1, code: 'call_too_large' }] })
    const nested = `{"batch":[${JSON.stringify(track)},{"type":"track","properties":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}]}`
    expect((await call('/v1/batch', nested)).body).toMatchObject({
      accepted: ['m1'],
      rejected: [{ index: 1, code: 'too_deep' }],
    })
  })

  it('has at most 512,000 bytes and 2,500 events', async () => {
    const batchOf = (events: number) => ({ batch: Array<unknown>(events).fill(track) })
    expect((await call('/v1/batch', batchOf(maxBatchEvents))).body.accepted).toHaveLength(maxBatchEvents)
    expect(await call('/v1/batch', batchOf(maxBatchEvents + 1))).toMatchObject({
      status: 413,
      body: { code: 'too_large' },
    })

    const padded = (bytes: number) => JSON.stringify({ batch: [track] }).padEnd(bytes, ' ')
    expect(await call('/v1/batch', padded(maxRequestBytes))).toMatchObject({ status: 200 })
    expect(await call('/v1/batch', padded(maxRequestBytes + 1))).toMatchObject({
      status: 413,
      body: { code: 'too_large' },
    })
    const gzip = { 'content-encoding': 'gzip' }
    expect(await call('/v1/batch', gzipSync(padded(maxRequestBytes)), gzip)).toMatchObject({ status: 200 })
    expect(await call('/v1/batch', gzipSync(padded(maxRequestBytes + 1)), gzip)).toMatchObject({ status: 413 })
  })

  it('of several megabytes is answered 413 in a way that the client can read', async () => {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect(await call('/v1/batch', 'x'.repeat(4 * 1024 * 1024))).toMatchObject({ status: 413 })
    }
  })
})

describe('an event that no destination gets', () => {
  it.each([
    ['because there is none', lonelyKey, {}, 'no_destination src_3'],
    ['because its integrations exclude all', writeKey, { integrations: { All: false } }, 'filtered src_1'],
    ['because its user is to be forgotten', writeKey, { userId: suppressedUser }, 'suppressed src_1'],
  ])('%s is answered 200 and counted', async (_case, key, members, counted) => {
    const answer = await call('/v1/track', { ...track, ...members }, { authorization: basic(key) })
    expect(answer).toMatchObject({ status: 200, body: { success: true, accepted: ['m1'] } })
    expect(server.port.events).toEqual([])
    expect(server.port.counts).toEqual({ [counted]: 1 })
  })
})

describe('the body', () => {
  const json = JSON.stringify({ batch: [track] })

  it.each([
    'application/json',
    'application/json; charset=UTF-8',
    'text/plain',
    'text/plain;charset=UTF-8',
    'application/x-www-form-urlencoded',
    'image/png',
    ';;;',
    'a',
    '',
  ])('is JSON under the Content-Type %j', async (type) => {
    expect(await call('/v1/batch', json, { 'content-type': type })).toMatchObject({ status: 200 })
    expect(server.port.events).toHaveLength(1)
  })

  it.each([
    ['gzip', gzipSync(json)],
    ['GZIP', gzipSync(json)],
    ['deflate', deflateSync(json)],
    ['deflate', deflateRawSync(json)],
    ['identity', Buffer.from(json)],
  ])('is read in %s', async (encoding, data) => {
    expect(await call('/v1/batch', data, { 'content-encoding': encoding })).toMatchObject({ status: 200 })
  })

  it('may start with a byte order mark', async () => {
    expect(await call('/v1/batch', `\ufeff${json}`)).toMatchObject({ status: 200 })
  })

  it.each([
    ['not JSON', Buffer.from('{"batch":['), {}, 400, 'bad_request'],
    ['empty', Buffer.from(''), {}, 400, 'bad_request'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, 400, 'bad_request'],
    ['not gzip', Buffer.from(json), { 'content-encoding': 'gzip' }, 400, 'bad_request'],
    ['cut short', gzipSync(json).subarray(0, -9), { 'content-encoding': 'gzip' }, 400, 'bad_request'],
    ['inflated without end', gzipSync(Buffer.alloc(50_000_000)), { 'content-encoding': 'gzip' }, 413, 'too_large'],
    ['in another encoding', Buffer.from(json), { 'content-encoding': 'br' }, 415, 'unsupported_media_type'],
  ])('that is %s is refused and counted', async (_case, data, headers, status, code) => {
    expect(await call('/v1/batch', data, headers)).toMatchObject({ status, body: { success: false, code } })
    expect(server.port.counts).toEqual({ [`rejected ${code}`]: 1 })
  })
})

describe('when the events cannot be held', () => {
  it.each(['inbox_full', 'unavailable'] as const)('answers %s with Retry-After and counts', async (code) => {
    server.port.failure = new AppError(code, 'Try later.', { retryAfterSeconds: 2.5 })
    const answer = await call('/v1/batch', { batch: [track, track, {}] }, { origin: 'https://shop.example' })
    expect(answer).toMatchObject({ status: code === 'inbox_full' ? 429 : 503, body: { success: false, code } })
    expect(answer.headers.get('retry-after')).toBe('3')
    expect(answer.headers.get('access-control-expose-headers')).toBe('Retry-After')
    expect(server.port.counts).toEqual({ 'rejected type_unknown src_1': 1, [`rejected ${code} src_1`]: 2 })
  })

  it('hides an unknown error', async () => {
    server.port.failure = new Error('connect to db with swordfish')
    const answer = await call('/v1/track', track)
    expect(answer).toMatchObject({ status: 500, body: { success: false, code: 'internal_error' } })
    expect(JSON.stringify(answer.body)).not.toContain('swordfish')
    expect((await fetch(`${server.url}/fault`)).status).toBe(500)
  })
})

describe('the paths', () => {
  it('answer a preflight, and every answer is open to any origin', async () => {
    for (const path of [
      '/v1/track',
      '/v1/t',
      '/v1/b',
      '/v1/batch/',
      '/v1/import',
      '/v1/m',
      '/v1/projects/x/settings',
    ]) {
      const preflight = await fetch(server.url + path, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://shop.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type,x-retry-count',
        },
      })
      expect(preflight.ok).toBe(true)
      expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
      expect(preflight.headers.get('access-control-allow-methods')).toContain('POST')
      const allowed = preflight.headers.get('access-control-allow-headers')?.toLowerCase()
      for (const name of ['authorization', 'content-type', 'x-retry-count']) expect(allowed).toContain(name)
    }
    const refused = await call('/v1/t', {}, { origin: 'https://shop.example', authorization: basic('nobody') })
    expect(refused.headers.get('access-control-allow-origin')).toBe('*')
  })

  it('answer other methods with 405 and unknown paths with 404, in the shape of all errors', async () => {
    const wrongMethod = await fetch(`${server.url}/v1/track`)
    expect(wrongMethod.status).toBe(405)
    expect(wrongMethod.headers.get('allow')).toContain('POST')
    expect(await wrongMethod.json()).toMatchObject({ success: false, code: 'method_not_allowed' })
    const unknown = await fetch(`${server.url}/v1/nothing`, { redirect: 'error' })
    expect(unknown.status).toBe(404)
    expect(await unknown.json()).toMatchObject({ success: false, code: 'not_found' })
    const undecodable = await fetch(`${server.url}/v1/%zz`)
    expect(undecodable.status).toBe(400)
    expect(await undecodable.json()).toMatchObject({ success: false, code: 'bad_request' })
  })

  it('swallow the browser library’s metrics, whatever they are', async () => {
    for (const body of ['{"series":[]}', 'no json', '']) {
      expect(await call('/v1/m', body, { authorization: '', 'content-type': 'text/plain' })).toMatchObject({
        status: 200,
        body: { success: true },
      })
    }
    expect(server.port.counts).toEqual({})
  })

  it('give the browser library settings that keep it on this server', async () => {
    const host = `${new URL(server.url).host}/v1`
    const response = await fetch(`${server.url}/v1/projects/${writeKey}/settings`)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      integrations: { 'Segment.io': { apiKey: writeKey, apiHost: host, protocol: 'http' } },
      metrics: { sampleRate: 0, host },
    })
    expect((await fetch(`${server.url}/v1/projects/nobody/settings`)).status).toBe(401)
  })

  it('tell Go clients that ask that there is one node', async () => {
    expect(await (await fetch(`${server.url}/cluster-info`)).json()).toEqual({ nodeCount: 1 })
  })
})
