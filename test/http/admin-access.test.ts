import { Agent, fetch as fetchWith } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CreatedApiToken, ApiToken, Session } from '../../src/schemas/access.ts'
import type { AuditEntry } from '../../src/schemas/audit.ts'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { adminToken, apiOf, startTestApp, type TestApp } from '../support/app.ts'
import { until } from '../support/wait.ts'

interface ErrorAnswer {
  code: string
  message: string
  path?: string
}

interface List<Item> {
  items: Item[]
  nextCursor: string | null
}

/** Where the reverse proxy of these tests calls from. */
const proxyAddress = '127.0.0.2'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { POSTRIDER_TRUSTED_PROXIES: `${proxyAddress}/32` } })
})
afterAll(() => node[Symbol.asyncDispose]())

/** Calls the management API like a browser: with headers of the test's choice and no bearer token. */
const call = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
  fetch(`${node.url}/api/v1${path}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

const signIn = (token: string, headers: Record<string, string> = {}) => call('POST', '/session', headers, { token })

/** The cookie of a fresh session, as a browser sends it back. */
async function sessionCookie(token = adminToken): Promise<string> {
  const [cookie = ''] = (await signIn(token)).headers.getSetCookie()
  return cookie.split(';', 1)[0] ?? ''
}

async function makeToken(role: 'admin' | 'viewer', name: string = role): Promise<CreatedApiToken> {
  const { status, body } = await node.api<CreatedApiToken>('POST', '/tokens', { name, role })
  expect(status).toBe(201)
  return body
}

const csrf = { 'x-postrider-csrf': '1' }

describe('a session', () => {
  it('begins with a token, in a cookie that scripts and other sites cannot use', async () => {
    const answer = await signIn(adminToken)
    expect(answer.status).toBe(200)
    const { role, expiresAt } = (await answer.json()) as Session
    expect(role).toBe('admin')
    const hours = (Date.parse(expiresAt ?? '') - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(11.9)
    expect(hours).toBeLessThanOrEqual(12)
    const [cookie = ''] = answer.headers.getSetCookie()
    expect(cookie).toMatch(/^postrider_session=\S+;/)
    expect(cookie).toContain('HttpOnly')
    expect(cookie).toContain('SameSite=Strict')
    expect(cookie).toContain('Path=/;')
    expect(cookie).not.toContain('Secure')
  })

  it('has a Secure cookie when the request came over https', async () => {
    const answer = await signIn(adminToken, { 'x-forwarded-proto': 'https' })
    expect(answer.headers.getSetCookie()[0]).toContain('Secure')
  })

  it('shows who calls, and ends', async () => {
    const cookie = await sessionCookie()
    const shown = await call('GET', '/session', { cookie })
    expect(await shown.json()).toMatchObject({ role: 'admin' })
    const ended = await call('DELETE', '/session', { cookie, ...csrf })
    expect(ended.status).toBe(200)
    expect(ended.headers.getSetCookie()[0]).toMatch(/^postrider_session=;.*Expires=Thu, 01 Jan 1970/)
  })

  it('is refused without a cookie, and with a cookie that was changed', async () => {
    expect((await call('GET', '/session')).status).toBe(401)
    const cookie = await sessionCookie()
    const claims = Buffer.from(JSON.stringify({ tokenId: null, expiresAt: Date.now() + 1e9 })).toString('base64url')
    const forged = cookie.replace(/=[^.]+/, `=${claims}`)
    expect(forged).not.toBe(cookie)
    expect((await call('GET', '/session', { cookie: forged })).status).toBe(401)
  })

  it('changes something only with the header that other sites cannot send', async () => {
    const cookie = await sessionCookie()
    const without = await call('POST', '/sources', { cookie }, { name: 'No' })
    expect(without.status).toBe(403)
    expect(((await without.json()) as ErrorAnswer).code).toBe('forbidden')
    const withHeader = await call('POST', '/sources', { cookie, ...csrf }, { name: 'Yes' })
    expect(withHeader.status).toBe(201)
  })

  it('changes nothing for a page of another site', async () => {
    const cookie = await sessionCookie()
    const other = await call('POST', '/sources', { cookie, ...csrf, origin: 'https://evil.example' }, { name: 'No' })
    expect(other.status).toBe(403)
    const own = await call('POST', '/sources', { cookie, ...csrf, origin: node.url }, { name: 'Own page' })
    expect(own.status).toBe(201)
    expect((await signIn(adminToken, { origin: 'https://evil.example' })).status).toBe(403)
  })

  it('ends when the API token that began it is revoked', async () => {
    const token = await makeToken('viewer', 'short-lived')
    const cookie = await sessionCookie(token.token)
    const before = await call('GET', '/session', { cookie })
    expect(await before.json()).toMatchObject({ role: 'viewer' })
    await node.api('DELETE', `/tokens/${token.id}`)
    expect((await call('GET', '/session', { cookie })).status).toBe(401)
  })
})

describe('a viewer', () => {
  let viewer: ReturnType<typeof apiOf>
  let source: Source
  let destination: Destination
  beforeAll(async () => {
    viewer = apiOf(node.url, (await makeToken('viewer', 'reader')).token)
    source = await node.createSource('Seen by a viewer')
    destination = await node.connect(
      [source],
      ['http://127.0.0.1:9/hook?token=a+query+secret&secret-alone&page=#top'],
      {
        sharedSecret: 'a shared secret',
        headers: { 'X-Api-Key': 'a header secret' },
      },
    )
  })

  it('reads settings, but neither write keys, header values nor what the query of a URL holds', async () => {
    const one = await viewer.api<Source>('GET', `/sources/${source.id}`)
    expect(one.body).toMatchObject({ id: source.id, name: 'Seen by a viewer', writeKey: '********' })
    const list = await viewer.api<List<Source>>('GET', '/sources')
    expect(list.body.items.map(({ writeKey }) => writeKey)).toEqual(list.body.items.map(() => '********'))
    const shown = await viewer.api<Destination>('GET', `/destinations/${destination.id}`)
    expect(shown.body.settings.webhooks[0]?.headers).toEqual({ 'X-Api-Key': '********' })
    const url = 'http://127.0.0.1:9/hook?token=********&********&page=********#top'
    expect(shown.body.settings.webhooks[0]?.url).toBe(url)
    const everything = JSON.stringify([one, list, shown, await viewer.api('GET', '/audit-log')])
    for (const secret of [source.writeKey, 'a header secret', 'a shared secret', 'a+query+secret', 'secret-alone'])
      expect(everything).not.toContain(secret)
  })

  it('reads what was sent, but no signature with which it could be sent again', async () => {
    const { body: sent } = await node.post('/track', source.writeKey, { userId: 'u', event: 'Signed' })
    const path = `/deliveries/${encodeURIComponent(`event/${source.id}/${(sent as { accepted: string[] }).accepted[0]}`)}`
    const headersSeenBy = async (caller: Pick<typeof viewer, 'api'>) =>
      (await caller.api<DeliveryDetail>('GET', path)).body.requests?.[0]?.headers
    await until('the delivery is told', async () => (await headersSeenBy(node)) !== undefined)
    expect(await headersSeenBy(node)).toMatchObject({
      'X-Signature': expect.stringMatching(/^[0-9a-f]{40}$/) as string,
      'webhook-signature': expect.stringMatching(/^v1,/) as string,
    })
    const seen = JSON.stringify((await viewer.api('GET', path)).body)
    expect(seen).toContain('http://127.0.0.1:9/hook?token=********')
    for (const secret of ['a+query+secret', 'secret-alone']) expect(seen).not.toContain(secret)
    expect(await headersSeenBy(viewer)).toMatchObject({
      'User-Agent': 'Postrider/1.0',
      'X-Signature': '********',
      'webhook-signature': '********',
      'X-Api-Key': '********',
    })
  })

  it('changes nothing, whichever route it tries', async () => {
    const { paths } = (await (await fetch(`${node.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>
    }
    const writes = Object.entries(paths)
      // Signing in and out, and a count whose ids are too many for a URL, change nothing.
      .filter(([path]) => !['/api/v1/session', '/api/v1/deliveries/steerable'].includes(path))
      .filter(([path]) => path.startsWith('/api/v1/'))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => [method.toUpperCase(), path] as const))
      .filter(([method]) => method !== 'GET')
    expect(writes.length).toBeGreaterThan(10)
    for (const [method, path] of writes) {
      const { status, body } = await viewer.api<ErrorAnswer>(method, path.slice(7).replace(/\{\w+\}/g, 'x'), {})
      expect([method, path, status, body.code]).toEqual([method, path, 403, 'forbidden'])
    }
    expect((await viewer.api<Source>('GET', `/sources/${source.id}`)).body.name).toBe('Seen by a viewer')
  })

  it('may sign out', async () => {
    const token = await makeToken('viewer', 'signs out')
    const cookie = await sessionCookie(token.token)
    expect((await call('DELETE', '/session', { cookie, ...csrf })).status).toBe(200)
  })
})

describe('answers', () => {
  it.each([adminToken, 'a wrong token'])('are kept by nobody and are no pages, to %s', async (token) => {
    const { headers } = await call('GET', '/sources', { authorization: `Bearer ${token}` })
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    })
  })
})

describe('answers of the ingest API, of health and of metrics', () => {
  it.each(['/v1/track', '/v1/projects/none/settings', '/healthz', '/readyz', '/metrics'])(
    'are kept by nobody, and are what they say: %s',
    async (path) => {
      const { headers } = await fetch(node.url + path, { method: path === '/v1/track' ? 'POST' : 'GET' })
      expect(Object.fromEntries(headers)).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
    },
  )
})

describe('API tokens', () => {
  it('are shown once, work at once, and stop when they are revoked', async () => {
    const created = await makeToken('admin', 'deploy')
    expect(created).toMatchObject({ name: 'deploy', role: 'admin', lastUsedAt: null })
    const mine = apiOf(node.url, created.token)
    expect((await mine.api('GET', '/sources')).status).toBe(200)
    const { body } = await node.api<List<ApiToken>>('GET', '/tokens')
    expect(body.items.find(({ id }) => id === created.id)).not.toHaveProperty('token')
    await until('a last use', async () => {
      const { items } = (await node.api<List<ApiToken>>('GET', '/tokens')).body
      return items.some(({ id, lastUsedAt }) => id === created.id && lastUsedAt !== null)
    })
    expect((await node.api('DELETE', `/tokens/${created.id}`)).status).toBe(200)
    expect((await mine.api('GET', '/sources')).status).toBe(401)
    expect((await node.api('DELETE', `/tokens/${created.id}`)).status).toBe(404)
  })

  it('have names of their own, and never that of the configured token', async () => {
    await makeToken('viewer', 'twice')
    expect((await node.api('POST', '/tokens', { name: 'Twice', role: 'viewer' })).status).toBe(409)
    const { status, body } = await node.api<ErrorAnswer>('POST', '/tokens', { name: 'Admin', role: 'viewer' })
    expect([status, body.path]).toEqual([400, 'name'])
  })

  it('refuse members that they do not know, by name', async () => {
    const { status, body } = await node.api<ErrorAnswer>('POST', '/tokens', { name: 'x', role: 'viewer', scope: 'all' })
    expect(status).toBe(400)
    expect(body.path).toBe('scope')
  })
})

describe('the audit log', () => {
  const entries = async (query = '') => (await node.api<List<AuditEntry>>('GET', `/audit-log${query}`)).body

  it('tells who changed what, from what to what, without secrets', async () => {
    const author = await makeToken('admin', 'author')
    const mine = apiOf(node.url, author.token)
    const source = await mine.createSource('Before')
    await mine.api('PATCH', `/sources/${source.id}`, { name: 'After' })
    await mine.api('POST', `/sources/${source.id}/rotate-key`)
    await mine.api('DELETE', `/sources/${source.id}`)
    const { items } = await entries('?limit=5')
    const subject = `sources/${source.id}`
    const by = { actor: 'author', subject, outcome: 'done' }
    expect(items).toMatchObject([
      { ...by, action: 'sources.delete', before: { name: 'After' }, after: null },
      { ...by, action: 'sources.rotate-key', before: { writeKey: '********' }, after: { writeKey: '********' } },
      { ...by, action: 'sources.update', before: { name: 'Before' }, after: { name: 'After' } },
      { ...by, action: 'sources.create', before: null, after: { name: 'Before' } },
      { actor: 'admin', action: 'tokens.create', subject: `tokens/${author.id}`, after: { token: '********' } },
    ])
  })

  it('names the secrets that were replaced, as they look the same before and after', async () => {
    const { id } = await node.connect([], ['http://127.0.0.1:9/hook'], { sharedSecret: 'the first one' })
    await node.api('PATCH', `/destinations/${id}`, { settings: { sharedSecret: 'the second one' } })
    const [entry] = (await entries('?limit=1')).items
    expect(entry).toMatchObject({
      action: 'destinations.update',
      after: { id, secretsSet: ['settings.sharedSecret'] },
    })
    expect(JSON.stringify(entry)).not.toContain('the second one')

    const webhook = { url: 'http://127.0.0.1:9/moved' }
    for (const [headers, set] of [
      [{}, undefined],
      [{ 'x-team': 'growth' }, ['settings.webhooks.0.headers']],
    ] as const) {
      await node.api('PATCH', `/destinations/${id}`, { settings: { webhooks: [{ ...webhook, headers }] } })
      const [moved] = (await entries('?limit=1')).items
      expect(moved?.after).toMatchObject({ settings: { webhooks: [webhook] } })
      expect((moved?.after as { secretsSet?: string[] }).secretsSet).toEqual(set)
    }
  })

  it('keeps no refused change', async () => {
    const [before] = (await entries('?limit=1')).items
    expect((await node.api('DELETE', '/sources/src_none')).status).toBe(404)
    expect((await node.api('POST', '/sources', {})).status).toBe(400)
    expect((await entries('?limit=1')).items[0]?.id).toBe(before?.id)
  })

  it('is paged, newest first', async () => {
    const all = (await entries('?limit=200')).items
    expect(all.length).toBeGreaterThan(4)
    const paged: AuditEntry[] = []
    let cursor: string | null = null
    do {
      const page: List<AuditEntry> = await entries(`?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`)
      paged.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== null)
    expect(paged).toEqual(all)
    expect((await node.api('GET', '/audit-log?cursor=x')).status).toBe(400)
  })
})

describe('wrong tokens', () => {
  const statusOf = (token: string) =>
    apiOf(node.url, token)
      .api('GET', '/sources')
      .then(({ status }) => status)
  const refusedSignIns = async () =>
    (await node.api<List<AuditEntry>>('GET', '/audit-log?limit=200')).body.items
      .filter(({ outcome }) => outcome === 'refused')
      .map(({ actor, action, subject, after }) => ({ actor, action, subject, after }))

  /** Signs in as the proxy of these tests, for a caller at `forwardedFor`. */
  const signInThrough = async (proxy: Agent, token: string, forwardedFor: string): Promise<number> => {
    const { status } = await fetchWith(`${node.url}/api/v1/session`, {
      method: 'POST',
      dispatcher: proxy,
      headers: { 'content-type': 'application/json', 'x-forwarded-for': forwardedFor },
      body: JSON.stringify({ token }),
    })
    return status
  }

  it('are refused as bearer tokens, with a wait when they differ; the right one never waits', async () => {
    const { token } = await makeToken('viewer', 'beside a guesser')
    for (let repeat = 0; repeat < 30; repeat++) expect(await statusOf('stale')).toBe(401)
    const statuses: number[] = []
    for (let i = 0; i < 25 && statuses.at(-1) !== 429; i++) statuses.push(await statusOf(`guess-${i}`))
    expect(statuses.slice(0, -1)).toEqual(statuses.slice(0, -1).map(() => 401))
    expect(statuses.at(-1)).toBe(429)
    expect([await statusOf('stale'), await statusOf(token), await statusOf(adminToken)]).toEqual([429, 200, 200])
  })

  it('are counted at sign-in also when they come at the same time, with the time to wait', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => signIn(`wrong-${index}`)))
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    expect([count(401), count(429)]).toEqual([10, 30])
    const refused = await signIn('wrong')
    expect(refused.status).toBe(429)
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(60)
    expect(((await refused.json()) as ErrorAnswer).code).toBe('too_many_requests')
    expect((await signIn(adminToken)).status).toBe(200)
  })

  it('at sign-in are in the audit log: the first of an address, and the one after which it waits', async () => {
    const entry = { action: 'session.create', subject: 'session' }
    const ofThisAddress = async () => (await refusedSignIns()).filter(({ actor }) => actor === '127.0.0.1')
    await until('both are written', async () => (await ofThisAddress()).length === 2)
    expect(await ofThisAddress()).toEqual([
      { ...entry, actor: '127.0.0.1', after: { tries: 10 } },
      { ...entry, actor: '127.0.0.1', after: { tries: 1 } },
    ])
    const [secret] = await refusedSignIns()
    expect(JSON.stringify(secret)).not.toContain('wrong')
  })

  it('are counted by the address that a trusted proxy names, one IPv6 network as one', async () => {
    const proxy = new Agent({ localAddress: proxyAddress })
    // What a caller writes there itself stands before what the proxy adds.
    for (let i = 0; i < 10; i++) expect(await signInThrough(proxy, 'wrong', `192.0.2.${i}, 203.0.113.7`)).toBe(401)
    expect(await signInThrough(proxy, 'wrong', '203.0.113.7')).toBe(429)
    expect(await signInThrough(proxy, 'wrong', '203.0.113.8')).toBe(401)
    expect(await signInThrough(proxy, adminToken, '203.0.113.7')).toBe(200)
    for (let i = 0; i < 10; i++) expect(await signInThrough(proxy, 'wrong', `2001:db8:1:2::${i}`)).toBe(401)
    expect(await signInThrough(proxy, 'wrong', '2001:db8:1:2:ffff::1')).toBe(429)
    expect(await signInThrough(proxy, 'wrong', '2001:db8:1:3::1')).toBe(401)
    await proxy.close()
    // What calls from elsewhere is no proxy: it is counted by its own address, whichever it names.
    const direct = Array.from({ length: 11 }, (_, i) => signIn('wrong', { 'x-forwarded-for': `203.0.113.${i + 9}` }))
    expect((await Promise.all(direct)).map(({ status }) => status)).toContain(429)
  })
})
