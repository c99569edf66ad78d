import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import type { EndpointTest } from '../../src/schemas/endpoint-test.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { POSTRIDER_ALLOWED_NETWORKS: '127.0.0.2/32' } })
})
afterAll(() => node[Symbol.asyncDispose]())

const url = 'https://example.com/hook'
const destination = (settings: object, more: object = {}) => ({ name: 'D', type: 'webhooks', settings, ...more })
const webhooks = (count: number) => Array.from({ length: count }, () => ({ url }))

interface Refusal {
  success: false
  code: string
  message: string
  path?: string
}
const create = (body: unknown) => node.api<Refusal & Destination>('POST', '/destinations', body)

describe('a write key that is replaced', () => {
  const send = async (writeKey: string) => (await node.post('/track', writeKey, { userId: 'u', event: 'E' })).status
  const rotate = (id: string, body?: unknown) => node.api<Source & Refusal>('POST', `/sources/${id}/rotate-key`, body)

  it('is refused at once, unless it may overlap', async () => {
    const { id, writeKey } = await node.createSource()
    const { body } = await rotate(id)
    expect(body.previousKeyExpiresAt).toBeNull()
    expect([await send(writeKey), await send(body.writeKey)]).toEqual([401, 200])
  })

  it('is taken until its time is over', async () => {
    const { id, writeKey } = await node.createSource()
    const { body } = await rotate(id, { overlapSeconds: 2 })
    expect([await send(writeKey), await send(body.writeKey)]).toEqual([200, 200])
    expect((await node.api<Source>('GET', `/sources/${id}`)).body).toEqual(body)
    await until('the old key is refused', async () => (await send(writeKey)) === 401)
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(body.previousKeyExpiresAt ?? ''))
    expect(await send(body.writeKey)).toBe(200)
    expect((await node.api<Source>('GET', `/sources/${id}`)).body.previousKeyExpiresAt).toBeNull()
  })

  it('can be ended before its time, and is refused when its source is switched off', async () => {
    const { id, writeKey } = await node.createSource()
    await rotate(id, { overlapSeconds: 3_600 })
    await node.api('PATCH', `/sources/${id}`, { enabled: false })
    expect(await send(writeKey)).toBe(401)
    await node.api('PATCH', `/sources/${id}`, { enabled: true })
    expect(await send(writeKey)).toBe(200)
    const ended = await node.api<Source>('DELETE', `/sources/${id}/previous-keys`)
    expect(ended).toMatchObject({ status: 200, body: { id, previousKeyExpiresAt: null } })
    expect(await send(writeKey)).toBe(401)
  })

  it.each([-1, 1.5, 30 * 24 * 3600 + 1, '24h'])('does not overlap for %j', async (overlapSeconds) => {
    const { id } = await node.createSource()
    expect(await rotate(id, { overlapSeconds })).toMatchObject({ status: 400, body: { path: 'overlapSeconds' } })
  })
})

describe('a name', () => {
  const kinds = [
    ['sources', {}],
    ['destinations', { type: 'webhooks', enabled: false, sourceIds: [], settings: { webhooks: [] } }],
    ['audiences', {}],
  ] as const

  it.each(kinds)('of %s may be that of others, unless the caller wants it to be unique', async (kind, members) => {
    const create = (name: string, query = '') =>
      node.api<{ id: string }>('POST', `/${kind}${query}`, { name, ...members })
    const only = '?uniqueName=true'
    expect([(await create('Twin')).status, (await create('Twin')).status]).toEqual([201, 201])
    const refused = { status: 409, body: { code: 'conflict', path: 'name' } }
    expect(await create('Twin', only)).toMatchObject(refused)

    // Of two at once, one has it.
    const both = await Promise.all([create('Single', only), create('Single', only)])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])

    const other = (await create('Other', only)).body
    const change = (id: string, name: string) =>
      node.api('PATCH', `/${kind}/${id}${only}`, { name, ...(kind === 'audiences' && { keepKey: true }) })
    expect(await change(other.id, 'Single')).toMatchObject(refused)
    expect((await change(other.id, 'Free')).status).toBe(200)
    // One that has shared its name before may keep it.
    const twin = (await create('Twin')).body
    expect((await change(twin.id, 'Twin')).status).toBe(200)
  })
})

describe('a destination', () => {
  it('has up to 5 webhooks, none at first', async () => {
    expect((await create(destination({ webhooks: webhooks(5) }))).status).toBe(201)
    expect((await create(destination({}))).body.settings).toEqual({ hasSharedSecret: false, webhooks: [] })
  })

  it('never shows its secret again', async () => {
    const { body } = await create(destination({ sharedSecret: 'shown-never', webhooks: webhooks(1) }))
    const answers = [
      body,
      (await node.api('GET', `/destinations/${body.id}`)).body,
      (await node.api('GET', '/destinations')).body,
      (await node.api('PATCH', `/destinations/${body.id}`, { settings: { sharedSecret: 'shown-never-2' } })).body,
    ]
    for (const answer of answers) expect(JSON.stringify(answer)).not.toContain('shown-never')
    expect(body.settings.hasSharedSecret).toBe(true)
    const unsigned = await node.api<Destination>('PATCH', `/destinations/${body.id}`, {
      settings: { sharedSecret: null },
    })
    expect(unsigned.body.settings.hasSharedSecret).toBe(false)
  })

  it.each<[string, unknown, string]>([
    ['a sixth webhook', destination({ webhooks: webhooks(6) }), 'settings.webhooks'],
    ['no name', { type: 'webhooks', settings: {} }, 'name'],
    ['an empty name', { name: ' ', type: 'webhooks', settings: {} }, 'name'],
    ['another type', { name: 'D', type: 'mail', settings: {} }, 'type'],
    ['no settings', { name: 'D', type: 'webhooks' }, 'settings'],
    ['an unknown source', destination({}, { sourceIds: ['src_none'] }), 'sourceIds[0]'],
    ['an empty secret', destination({ sharedSecret: '' }), 'settings.sharedSecret'],
    ['a URL that is none', destination({ webhooks: [{ url }, { url: 'example.com' }] }), 'settings.webhooks[1].url'],
    [
      'a URL of another protocol',
      destination({ webhooks: [{ url: 'ftp://example.com' }] }),
      'settings.webhooks[0].url',
    ],
    [
      'a URL with a password',
      destination({ webhooks: [{ url: 'https://u:p@example.com' }] }),
      'settings.webhooks[0].url',
    ],
    [
      'a header that is no string',
      destination({ webhooks: [{ url, headers: { 'X-A': 1 } }] }),
      'settings.webhooks[0].headers.X-A',
    ],
  ])('with %s is refused, and the member named', async (_what, body, path) => {
    const answer = await create(body)
    expect(answer).toMatchObject({ status: 400, body: { success: false, code: 'bad_request', path } })
    expect(answer.body.message).toContain(path)
  })

  it.each([
    ['Host', 'x'],
    ['content-length', '1'],
    ['Transfer-Encoding', 'chunked'],
    ['Connection', 'close'],
    ['Keep-Alive', '1'],
    ['Expect', '100-continue'],
    ['Upgrade', 'x'],
    ['User-Agent', 'x'],
    ['content-type', 'text/plain'],
    ['X-SIGNATURE', 'x'],
    ['webhook-id', 'x'],
    ['X-Split', 'a\r\nX-Evil: b'],
    ['X-Null', 'a\u0000'],
    ['X-Wide', '✓'],
    ['X Blank', 'x'],
    ['', 'x'],
  ])('with the header %j: %j is refused, when made and when changed', async (name, value) => {
    const path = `settings.webhooks[0].headers.${name}`
    const settings = { webhooks: [{ url, headers: { [name]: value } }] }
    const { body: existing } = await create(destination({}))
    const patched = await node.api('PATCH', `/destinations/${existing.id}`, { settings })
    for (const answer of [await create(destination(settings)), patched])
      expect(answer).toMatchObject({ status: 400, body: { code: 'bad_request', path } })
  })

  it('with one header in two spellings is refused, with one of Latin-1 taken', async () => {
    const twice = await create(destination({ webhooks: [{ url, headers: { 'X-A': '1', 'x-a': '2' } }] }))
    expect(twice).toMatchObject({ status: 400, body: { path: 'settings.webhooks[0].headers.x-a' } })
    const latin = await create(destination({ webhooks: [{ url, headers: { 'X-Name': 'Größe' } }] }))
    expect(latin.body.settings.webhooks[0]?.headers).toEqual({ 'X-Name': 'Größe' })
  })

  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0x7f000001/',
    'http://localhost:8080/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://100.64.0.1/',
    'http://0.0.0.0/',
  ])('that leads to %s is refused', async (target) => {
    const answer = await create(destination({ webhooks: [{ url: target }] }))
    expect(answer).toMatchObject({ status: 400, body: { code: 'bad_request', path: 'settings.webhooks[0].url' } })
  })

  it('that leads to an allowed network is taken', async () => {
    expect((await create(destination({ webhooks: [{ url: 'http://127.0.0.2/' }] }))).status).toBe(201)
  })

  it('is not changed by a request with a member that is unknown', async () => {
    const { body } = await create(destination({ webhooks: webhooks(1) }))
    const answer = await node.api<Refusal>('PATCH', `/destinations/${body.id}`, { name: 'New', pause: true })
    expect(answer).toMatchObject({ status: 400, body: { code: 'bad_request' } })
    expect(answer.body.message).toContain('pause')
    expect((await node.api('GET', `/destinations/${body.id}`)).body).toEqual(body)
  })
})

describe('a call', () => {
  it.each([
    ['GET', '/sources/src_none'],
    ['PATCH', '/sources/src_none'],
    ['DELETE', '/sources/src_none'],
    ['POST', '/sources/src_none/rotate-key'],
    ['DELETE', '/sources/src_none/previous-keys'],
    ['GET', '/destinations/dst_none'],
    ['PATCH', '/destinations/dst_none'],
    ['DELETE', '/destinations/dst_none'],
  ])('%s %s of what does not exist is answered 404', async (method, path) => {
    const answer = await node.api(method, path, method === 'PATCH' ? { name: 'N' } : undefined)
    expect(answer).toMatchObject({ status: 404, body: { success: false, code: 'not_found' } })
  })

  it.each([undefined, 'Bearer wrong', 'Basic dGVzdC1hZG1pbi10b2tlbjo='])(
    'with authorization %s is refused',
    async (authorization) => {
      const response = await fetch(`${node.url}/api/v1/sources`, { headers: authorization ? { authorization } : {} })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ success: false, code: 'unauthorized' })
    },
  )
})

describe('a test of endpoints', () => {
  const test = (body: unknown) => node.api<Refusal & EndpointTest>('POST', '/destinations/test', body)
  const sha1 = (secret: string, body: Buffer | undefined) =>
    createHmac('sha1', secret)
      .update(body ?? '')
      .digest('hex')

  it('sends a sample of any type to endpoints that are not saved, signed with the secret beside them', async () => {
    await using receiver = await startReceiver({ host: '127.0.0.2' })
    receiver.answer({ status: 422, body: 'no such plan' })
    const headers = { 'X-Team': 'growth' }
    const { status, body } = await test({
      type: 'group',
      settings: { sharedSecret: 'typed', webhooks: [{ url: receiver.url, headers }] },
    })
    expect(status).toBe(200)
    const [sent] = receiver.requests
    expect(JSON.parse(sent?.body.toString() ?? '')).toMatchObject({ type: 'group', groupId: 'test-group' })
    expect(sent?.headers).toMatchObject({ 'x-team': 'growth', 'x-signature': sha1('typed', sent?.body) })
    expect(body.results).toEqual([
      expect.objectContaining({
        endpointId: null,
        url: receiver.url,
        outcome: 'rejected',
        status: 422,
        excerpt: 'no such plan',
        request: {
          headers: expect.objectContaining({ ...headers, 'X-Signature': sha1('typed', sent?.body) }) as object,
          body: sent?.body.toString(),
        },
      }),
    ])
  })

  it('takes the secret and the headers that are saved, unless it has its own', async () => {
    await using receiver = await startReceiver({ host: '127.0.0.2' })
    const entry = { url: receiver.url, headers: { 'X-Team': 'growth' } }
    const { body: saved } = await create(destination({ sharedSecret: 'saved', webhooks: [entry] }))
    const id = saved.settings.webhooks[0]?.id
    const url = `${receiver.url}/new`
    await test({ destinationId: saved.id, settings: { webhooks: [{ id, url }] } })
    await test({ destinationId: saved.id, settings: { sharedSecret: null, webhooks: [{ id, url, headers: {} }] } })
    const [first, second] = receiver.requests
    expect(first).toMatchObject({
      path: '/new',
      headers: { 'x-team': 'growth', 'x-signature': sha1('saved', first?.body) },
    })
    expect(second?.headers).not.toHaveProperty('x-team')
    expect(second?.headers).not.toHaveProperty('x-signature')
  })

  it.each<[string, unknown, number, string | undefined]>([
    ['no endpoint', { settings: { webhooks: [] } }, 400, 'settings.webhooks'],
    ['a URL that is none', { settings: { webhooks: [{ url: 'example.com' }] } }, 400, 'settings.webhooks[0].url'],
    ['a forbidden address', { settings: { webhooks: [{ url: 'http://10.0.0.1' }] } }, 400, 'settings.webhooks[0].url'],
    ['an unknown type', { type: 'mail', settings: { webhooks: [{ url }] } }, 400, 'type'],
    ['an unknown destination', { destinationId: 'dst_none', settings: { webhooks: [{ url }] } }, 404, undefined],
  ])('refuses %s', async (_what, request, status, path) => {
    const answer = await test(request)
    expect(answer.status).toBe(status)
    expect(answer.body.path).toBe(path)
  })
})
