/** What the management API sends over a network to a browser, which takes gzip. */

import { once } from 'node:events'
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Source } from '../../src/schemas/source.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

async function open(path: string, encoding: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${adminToken}`, 'accept-encoding': encoding }
  const [answer] = (await once(get(`${node.url}/api/v1${path}`, { headers, agent: false }), 'response')) as [
    IncomingMessage,
  ]
  return answer
}

async function fetchRaw(path: string, encoding = 'gzip, deflate, br'): Promise<[IncomingHttpHeaders, Buffer]> {
  const answer = await open(path, encoding)
  return [answer.headers, Buffer.concat(await answer.toArray())]
}

it('a long list is compressed for who takes it so', async () => {
  for (let n = 0; n < 20; n++) await node.createSource(`Source ${n}`)
  const [plainHeaders, plain] = await fetchRaw('/sources', 'identity')
  expect(plainHeaders).not.toHaveProperty('content-encoding')
  const [headers, compressed] = await fetchRaw('/sources')
  expect(headers).toMatchObject({
    'content-encoding': 'gzip',
    vary: expect.stringContaining('accept-encoding') as string,
  })
  expect(gunzipSync(compressed)).toEqual(plain)
  expect(compressed.length).toBeLessThan(plain.length / 3)
})

it('an answer that fits into one packet is sent as it is', async () => {
  const { id } = await node.createSource('Short')
  const [headers, body] = await fetchRaw(`/sources/${id}`)
  expect(headers).not.toHaveProperty('content-encoding')
  expect(JSON.parse(body.toString())).toMatchObject({ id })
})

it('live events are sent as they come, uncompressed', async () => {
  const source: Source = await node.createSource('Live')
  const stream = await open(`/sources/${source.id}/live`, 'gzip')
  expect(stream.headers).not.toHaveProperty('content-encoding')
  let seen = ''
  stream.on('data', (part: Buffer) => (seen += part.toString()))
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Opened' })
  await expect.poll(() => seen, { timeout: 10_000 }).toContain('"Opened"')
  stream.destroy()
})
