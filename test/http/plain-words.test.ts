import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

it.each([
  ['POST', '/sources', {}, 'name: is missing'],
  ['POST', '/sources', { name: '' }, 'name: must not be empty'],
  ['POST', '/sources', { name: 7 }, 'name: must be a text'],
  ['POST', '/sources', { name: 'x'.repeat(201) }, 'name: must have at most 200 characters'],
  [
    'POST',
    '/sources',
    { name: 'Shop', color: 'red' },
    'color: is not a known member: check its spelling, or leave it out',
  ],
  ['POST', '/destinations', { name: 'D', type: 'mail', settings: {} }, 'type: must be webhooks'],
  ['POST', '/audiences', { name: 'A', membership: { kind: 'ftp' } }, 'membership.kind: must be one of push, http, sql'],
  ['GET', '/deliveries?limit=1000', undefined, 'limit: must be at most 200'],
  ['GET', '/deliveries?status=lost', undefined, /^status: must be one of queued, delivering, /],
] as const)('says of %s %s %j in plain words what is wrong', async (method, path, body, words) => {
  const answer = await node.api<{ message: string }>(method, path, body)
  expect(answer.status).toBe(400)
  expect(answer.body.message).toEqual(typeof words === 'string' ? words : expect.stringMatching(words))
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
