import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AlertChannel, AlertChannelPatch, AlertRules } from '../../src/schemas/alert.ts'
import type { Audience } from '../../src/schemas/audience.ts'
import type { Destination, DestinationView } from '../../src/schemas/destination.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

async function call(method: string, path: string, { ifMatch, body, token = adminToken }: Call = {}) {
  const answer = await fetch(`${node.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const { message } = (await answer.json()) as { message?: string }
  return { status: answer.status, message, etag: answer.headers.get('etag') ?? '' }
}
interface Call {
  ifMatch?: string
  body?: unknown
  token?: string
}

it('refuses a change of what another changed meanwhile, and names it', async () => {
  const { id } = await node.connect([await node.createSource()], ['http://127.0.0.1:9/hook'])
  const path = `/destinations/${id}`
  const { etag: ifMatch } = await call('GET', path)
  const first = await call('PATCH', path, {
    ifMatch,
    body: { name: 'Mine', settings: { webhooks: [{ url: 'http://127.0.0.1:9/mine' }] } },
  })
  expect(first.status).toBe(200)
  const second = await call('PATCH', path, { ifMatch, body: { name: 'Yours', successPolicy: 'all' } })
  expect([second.status, second.message]).toEqual([
    409,
    'This was changed since it was read: name. Read it again before you change it.',
  ])
  const third = await call('PATCH', path, { ifMatch, body: { settings: { webhooks: [] } } })
  expect([third.status, third.message]).toEqual([409, expect.stringContaining(': settings.webhooks.')])
  // What nobody else changed may be changed, and so may everything after it was read again, or by who does not ask.
  expect((await call('PATCH', path, { ifMatch, body: { successPolicy: 'all' } })).status).toBe(200)
  expect((await call('PATCH', path, { ifMatch: first.etag, body: { name: 'Yours' } })).status).toBe(200)
  expect((await call('PATCH', path, { body: { name: 'Anybody’s' } })).status).toBe(200)
  const { body } = await node.api<Destination>('GET', path)
  expect(body).toMatchObject({ name: 'Anybody’s', successPolicy: 'all' })
})

it('does not count how the endpoints of a destination do', async () => {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  const { id } = await node.connect([source], [receiver.url])
  const path = `/destinations/${id}`
  const { etag: ifMatch } = await call('GET', path)
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Bought' })
  await until('the endpoint works', async () => {
    const { body } = await node.api<DestinationView>('GET', path)
    return body.endpoints.every(({ state }) => state === 'working')
  })
  expect((await call('GET', path)).etag).toBe(ifMatch)
  expect((await call('PATCH', path, { ifMatch, body: { name: 'Mine' } })).status).toBe(200)
})

it('refuses such changes of sources and audiences too, and gives no tag to a viewer', async () => {
  const source = await node.createSource('Shop')
  const { body: audience } = await node.api<Audience>('POST', '/audiences', { name: 'Readers' })
  for (const path of [`/sources/${source.id}`, `/audiences/${audience.id}`]) {
    const { etag: ifMatch } = await call('GET', path)
    expect((await call('PATCH', path, { ifMatch, body: { name: 'One', keepKey: undefined } })).status).not.toBe(400)
    await call('PATCH', path, {
      body: path.startsWith('/audiences') ? { name: 'Two', keepKey: true } : { name: 'Two' },
    })
    expect((await call('PATCH', path, { ifMatch, body: { name: 'Three' } })).status, path).toBe(409)
  }
  const { body } = await node.api<{ token: string }>('POST', '/tokens', { name: 'Guest', role: 'viewer' })
  expect((await call('GET', `/sources/${source.id}`, { token: body.token })).etag).toBe('')
})

it('lets one of several changes through that come at the same time', async () => {
  const { id: destinationId } = await node.connect([await node.createSource()], ['http://127.0.0.1:9/hook'])
  const { id: sourceId } = await node.createSource()
  const { body: audience } = await node.api<Audience>('POST', '/audiences', { name: 'Walkers' })
  const { body: rules } = await node.api<AlertRules>('GET', '/alert-rules')
  const { body: channel } = await node.api<AlertChannel>('POST', '/alert-channels', {
    name: 'Day watch',
    settings: { kind: 'webhook', url: 'http://127.0.0.1:9/alerts' },
  })
  const changes: [method: string, path: string, bodyOf: (index: number) => object][] = [
    ['PATCH', `/destinations/${destinationId}`, (index) => ({ name: `Name ${index}` })],
    ['PATCH', `/sources/${sourceId}`, (index) => ({ name: `Name ${index}` })],
    ['PATCH', `/audiences/${audience.id}`, (index) => ({ maxPerSecond: 10 + index })],
    ['PUT', '/alert-rules', (index) => ({ ...rules, inboxOlderThanSeconds: 200 + index })],
    ['PATCH', `/alert-channels/${channel.id}`, (index) => ({ name: `Name ${index}` })],
  ]
  for (const [method, path, bodyOf] of changes) {
    const { etag: ifMatch } = await call('GET', path)
    const bodies = [1, 2, 3, 4].map(bodyOf)
    const answers = await Promise.all(bodies.map((body) => call(method, path, { ifMatch, body })))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.toSorted(), path).toEqual([200, 409, 409, 409])
    expect((await node.api('GET', path)).body, path).toMatchObject(bodies[statuses.indexOf(200)] ?? {})
  }
})

it('refuses alert rules in place of others that were saved meanwhile', async () => {
  const { body: rules } = await node.api<AlertRules>('GET', '/alert-rules')
  const { etag: ifMatch } = await call('GET', '/alert-rules')
  const put = (change: Partial<AlertRules>, tag?: string) =>
    call('PUT', '/alert-rules', { body: { ...rules, ...change }, ...(tag !== undefined && { ifMatch: tag }) })
  const first = await put({ inboxOlderThanSeconds: 77 }, ifMatch)
  expect(first.status).toBe(200)
  const second = await put({ endpointFailingAfterSeconds: 88 }, ifMatch)
  expect([second.status, second.message]).toEqual([
    409,
    'This was changed since it was read: inboxOlderThanSeconds. Read it again before you change it.',
  ])
  expect((await node.api<AlertRules>('GET', '/alert-rules')).body).toEqual({ ...rules, inboxOlderThanSeconds: 77 })
  expect((await put({ endpointFailingAfterSeconds: 88 }, first.etag)).status).toBe(200)
  expect((await put({})).status).toBe(200)
})

it('refuses a change of a channel that another changed meanwhile, also of what is never shown', async () => {
  const url = 'http://127.0.0.1:9/alerts'
  const { body: channel } = await node.api<AlertChannel>('POST', '/alert-channels', {
    name: 'Ops',
    settings: { kind: 'webhook', url: `${url}/one`, sharedSecret: 'first' },
  })
  const path = `/alert-channels/${channel.id}`
  const { etag: ifMatch } = await call('GET', path)
  const patch = (body: AlertChannelPatch, tag = ifMatch) => call('PATCH', path, { ifMatch: tag, body })
  const moved = await patch({ settings: { kind: 'webhook', url: `${url}/two` } })
  expect(moved.status).toBe(200)
  const second = await patch({ name: 'Night watch', settings: { kind: 'webhook', url: `${url}/three` } })
  expect([second.status, second.message]).toEqual([
    409,
    'This was changed since it was read: settings.url. Read it again before you change it.',
  ])
  expect((await patch({ settings: { kind: 'webhook', sharedSecret: 'second' } })).status).toBe(200)
  expect((await patch({ settings: { kind: 'webhook', sharedSecret: null } }, moved.etag)).status).toBe(409)
  // How telling goes does not count.
  const read = await call('GET', path)
  await node.api('POST', `${path}/test`)
  expect((await node.api<AlertChannel>('GET', path)).body).toMatchObject({
    name: 'Ops',
    lastError: expect.any(String) as string,
  })
  expect((await call('GET', path)).etag).toBe(read.etag)
  expect((await patch({ name: 'Night watch' }, read.etag)).status).toBe(200)
})
