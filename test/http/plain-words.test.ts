import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'

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
  ['POST', '/sources', { name: 'Shop', color: 'red' }, 'color: is not known here'],
  ['POST', '/destinations', { name: 'D', type: 'mail', settings: {} }, 'type: must be webhooks'],
  ['GET', '/deliveries?limit=1000', undefined, 'limit: must be at most 200'],
  ['GET', '/deliveries?status=lost', undefined, /^status: must be one of queued, delivering, /],
] as const)('says of %s %s %j in plain words what is wrong', async (method, path, body, words) => {
  const answer = await node.api<{ message: string }>(method, path, body)
  expect(answer.status).toBe(400)
  expect(answer.body.message).toEqual(typeof words === 'string' ? words : expect.stringMatching(words))
})
