import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { wrongValues } from '../support/wrong-values.ts'

const routes: RouteOptions[] = []
const watch = (event: unknown): void => {
  const { fastify } = event as { fastify: FastifyInstance }
  fastify.addHook('onRoute', (route) => void routes.push(route))
}

let node: TestApp
beforeAll(async () => {
  subscribe('fastify.initialization', watch)
  node = await startTestApp()
})
afterAll(async () => {
  unsubscribe('fastify.initialization', watch)
  await node[Symbol.asyncDispose]()
})

it.each([
  ['POST', '/sources', {}, 'name is missing.'],
  ['POST', '/sources', undefined, 'The body must be an object.'],
  ['POST', '/sources', [], 'The body must be an object.'],
  ['POST', '/sources', { name: '' }, 'name must not be empty.'],
  ['POST', '/sources', { name: 7 }, 'name must be a text.'],
  ['POST', '/sources', { name: 'x'.repeat(201) }, 'name must have at most 200 characters.'],
  [
    'POST',
    '/sources',
    { name: 'Shop', color: 'red' },
    'color is not a known member: check its spelling, or leave it out.',
  ],
  ['POST', '/destinations', { name: 'D', type: 'mail', settings: {} }, 'type must be webhooks.'],
  ['POST', '/audiences', { name: 'A', membership: { kind: 'ftp' } }, 'membership.kind must be one of push, http, sql.'],
  ['POST', '/deliveries/x/redeliver', { only: {} }, 'only must name a destination or an endpoint.'],
  ['GET', '/deliveries?limit=1000', undefined, 'limit must be at most 200.'],
  ['GET', '/deliveries?limit=few', undefined, 'limit must be a number.'],
  ['GET', '/deliveries?limit=1.5', undefined, 'limit must be a whole number.'],
  ['GET', '/deliveries?status=lost', undefined, /^status must be one of queued, delivering, .+\.$/],
  ['GET', '/deliveries?type=page&type=track', undefined, /^type must be one of track, .+\.$/],
  ['GET', '/deliveries?since=now', undefined, 'since must be a time such as 2026-01-31T12:00:00Z.'],
  ['GET', '/deliveries?cursor=x', undefined, 'cursor is not a cursor of this list.'],
  ['GET', '/sources/src_none', undefined, 'No source has the id src_none.'],
] as const)('says of %s %s %j in plain words what is wrong', async (method, path, body, words) => {
  const answer = await node.api<{ message: string }>(method, path, body)
  expect(answer.status).toBe(path.endsWith('src_none') ? 404 : 400)
  expect(answer.body.message).toEqual(typeof words === 'string' ? words : expect.stringMatching(words))
})

const destination = (settings: object, more: object = {}) => ({ name: 'D', type: 'webhooks', settings, ...more })
const withHeaders = (headers: object) => destination({ webhooks: [{ url: 'http://127.0.0.1:9/hook', headers }] })
const fetched = (headers: object) => ({
  name: 'A',
  membership: { kind: 'http', url: 'http://127.0.0.1:9/members', headers },
})
const manyHeaders = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`X-${n}`, 'v']))

it.each([
  [
    'more headers than an endpoint may have',
    '/destinations',
    withHeaders(manyHeaders),
    'settings.webhooks[0].headers must have at most 50 headers.',
  ],
  [
    'a header with a value that is too long',
    '/destinations',
    withHeaders({ 'X-Key': 'v'.repeat(4_097) }),
    'settings.webhooks[0].headers.X-Key must have a value of at most 4096 characters.',
  ],
  [
    'a renaming without a path',
    '/destinations',
    destination({}, { mapping: { rename: { '': 'name' } } }),
    'mapping.rename must have a path of 1 to 256 characters for each value.',
  ],
  [
    'a value that is set without a path',
    '/destinations',
    destination({}, { mapping: { set: { '': 1 } } }),
    'mapping.set must have a path of 1 to 256 characters for each value.',
  ],
  [
    'more headers than a fetch may have',
    '/audiences',
    fetched(manyHeaders),
    'membership.headers must have at most 50 headers.',
  ],
  [
    'a header of a fetch with a value that is too long',
    '/audiences',
    fetched({ 'X-Key': 'v'.repeat(4_097) }),
    'membership.headers.X-Key must have a value of at most 4096 characters.',
  ],
  [
    'a header of a fetch whose name has a blank',
    '/audiences',
    fetched({ 'X Key': 'v' }),
    'membership.headers.X Key: the header name "X Key" is empty or has characters that HTTP does not allow in it.',
  ],
  [
    'a header of a fetch whose value is beyond Latin-1',
    '/audiences',
    fetched({ 'X-Key': '☃' }),
    'membership.headers.X-Key: the value of the header X-Key has control characters or characters beyond Latin-1.',
  ],
  [
    'an audience whose name has no letter',
    '/audiences',
    { name: '☃' },
    'name: it has neither a letter nor a digit, so it gives no name of a trait: add one, or send a key of your own through the API.',
  ],
  [
    'an audience whose name is too long for a trait',
    '/audiences',
    { name: 'n'.repeat(101) },
    'name: the name of the trait that it gives is longer than 100 characters: shorten it, or send a key of your own through the API.',
  ],
])('says of %s what is wrong with it', async (_, path, body, words) => {
  const answer = await node.api<{ message: string }>('POST', path, body)
  expect(answer.status).toBe(400)
  expect(answer.body.message).toBe(words)
})

it('tells who renames an audience what the API takes then', async () => {
  const { id } = (await node.api<{ id: string }>('POST', '/audiences', { name: 'Renamed' })).body
  expect((await node.api<{ message: string }>('PATCH', `/audiences/${id}`, { name: '☃' })).body.message).toBe(
    'name: it has neither a letter nor a digit, so it gives no name of a trait: add one, or send keepKey true through the API to keep renamed.',
  )
})

describe('whatever is wrong with a call', () => {
  /** How what is wrong with a member goes on after its name. */
  const plainWords = /^(is|must|has|goes) .+[^.]$/
  const libraryWords = /\b(expected|received|invalid|NaN|undefined|schema|too (big|small)|unrecognized)\b/i

  const parts = ['body', 'querystring', 'params', 'headers'] as const
  const schemasOf = ({ schema }: RouteOptions): z.ZodType[] =>
    parts.flatMap((part) => {
      const own = schema?.[part]
      return own instanceof z.ZodType ? [own] : []
    })

  it('is said in plain words, by the schema of every route', () => {
    const checked = routes.flatMap((route) => schemasOf(route).map((schema) => ({ url: route.url, schema })))
    expect(checked.length).toBeGreaterThan(80)
    const told = new Map<string, string>()
    for (const { url, schema } of checked)
      for (const value of wrongValues(schema))
        for (const { message, code } of schema.safeParse(value).error?.issues ?? [])
          told.set(message, `${code} at ${url}`)
    const unclear = [...told].filter(([message]) => !plainWords.test(message) || libraryWords.test(message))
    expect(Object.fromEntries(unclear)).toEqual({})
    const kinds = new Set([...told.values()].map((text) => text.split(' ')[0]))
    for (const kind of ['invalid_type', 'too_small', 'too_big', 'invalid_value', 'unrecognized_keys', 'invalid_format'])
      expect(kinds).toContain(kind)
  })

  it('is answered with a whole sentence, by every route that takes a body', async () => {
    const withBody = routes.filter(({ url, schema }) => url.startsWith('/api/v1/') && schema?.body instanceof z.ZodType)
    expect(withBody.length).toBeGreaterThan(20)
    for (const { method, url } of withBody) {
      const path = url.slice('/api/v1'.length).replace(/:\w+/g, 'none')
      const answer = await node.api<{ message: string }>(String(method), path, { 'no member': 1 })
      expect(answer.body.message, `${String(method)} ${url}`).toMatch(/^\S+( \S+){2,}\.$/)
      expect(answer.body.message).not.toMatch(libraryWords)
    }
  })
})

it.each([
  ['{"name":', 'The body is not valid JSON: check it for a missing quote, comma or bracket.'],
  ['', 'The body is empty: send JSON, or leave out the content type.'],
  [JSON.stringify({ name: 'x'.repeat(3_000_000) }), 'The body is larger than this call accepts: send less at a time.'],
])('says of the body %.10s how to mend it', async (body, words) => {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  const answer = await fetch(`${node.url}/api/v1/sources`, { method: 'POST', headers, body })
  expect(await answer.json()).toMatchObject({ success: false, message: words })
})

it('says of a wrong token where a right one comes from', async () => {
  const answer = await fetch(`${node.url}/api/v1/sources`, { headers: { authorization: 'Bearer wrong' } })
  const message = 'The token is not known: use the admin token, or an API token that has not been revoked.'
  expect(await answer.json()).toMatchObject({ code: 'unauthorized', message })
})

it.each([
  ['GET', '/v1/track', 405, 'method_not_allowed', 'Events are sent with POST.'],
  ['DELETE', '/v1/b', 405, 'method_not_allowed', 'Events are sent with POST.'],
  ['PUT', '/api/v1/sources', 404, 'not_found', 'Nothing is at this path, or not for this method.'],
  ['POST', '/healthz', 404, 'not_found', 'Nothing is at this path, or not for this method.'],
  ['POST', '/v1/projects/x/settings', 404, 'not_found', 'Nothing is at this path, or not for this method.'],
  ['GET', '/v1/none', 404, 'not_found', 'Nothing is at this path, or not for this method.'],
  ['GET', '/api/v1/sources/%zz', 400, 'bad_request', 'The path is not a valid one: check what stands after its %.'],
  ['GET', `/api/v1/sources/${'x'.repeat(401)}`, 404, 'not_found', 'Nothing is at this path, or not for this method.'],
  [
    'POST',
    '/api/v1/sources',
    415,
    'unsupported_media_type',
    'The body has a content type that this call does not read: send application/json.',
  ],
])('answers %s %s with %i %s', async (method, path, status, code, message) => {
  const body = status === 415 ? 'name' : undefined
  const headers = {
    authorization: `Bearer ${adminToken}`,
    ...(body !== undefined && { 'content-type': 'application/xml' }),
  }
  const answer = await fetch(`${node.url}${path}`, { method, headers, ...(body !== undefined && { body }) })
  expect({ status: answer.status, ...((await answer.json()) as object) }).toEqual({
    status,
    success: false,
    code,
    message,
  })
})
