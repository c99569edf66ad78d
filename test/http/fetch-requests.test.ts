import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetchingUrl, type FetchedRequest } from '../../src/schemas/listen-request.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { until } from '../support/wait.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

interface Fetched {
  requests: FetchedRequest[]
}

it('hands requests out to one listener at a time, and takes its answers', async () => {
  const source = await node.createSource()
  const { id } = await node.connect([source], [fetchingUrl('laptop')])
  const path = `/destinations/${id}/requests`
  const fetched = (listener: string, waitSeconds?: number) =>
    node.api<Fetched>('POST', `${path}/fetch`, { listener, ...(waitSeconds !== undefined && { waitSeconds }) })
  expect(await fetched('one', 0)).toMatchObject({ status: 200, body: { requests: [] } })
  expect(await fetched('two', 0)).toMatchObject({ status: 409, body: { code: 'conflict' } })
  expect((await node.api('POST', `${path}/leave`, { listener: 'two' })).status).toBe(200)
  expect((await fetched('two', 0)).status).toBe(409)
  expect((await node.api('POST', `${path}/leave`, { listener: 'one' })).status).toBe(200)
  expect((await fetched('two', 0)).status).toBe(200)

  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Fetched' })
  const request = await until('a request comes', async () => (await fetched('two')).body.requests[0])
  expect(request).toMatchObject({ method: 'POST', headers: { 'Content-Type': 'application/json' } })
  expect(JSON.parse(request.body)).toMatchObject({ type: 'track', event: 'Fetched' })
  const answer = () => node.api('POST', `${path}/${request.id}/answer`, { status: 204 })
  expect((await answer()).status).toBe(200)
  expect(await answer()).toMatchObject({
    status: 404,
    body: { message: expect.stringContaining(request.id) as string },
  })
  await until('the event is delivered', async () => {
    const { body } = await node.api<{ count: number }>('GET', '/deliveries/count?status=delivered')
    return body.count === 1
  })
})

it('refuses what is none of its destinations, and waits that are too long', async () => {
  const path = '/destinations/dst_none/requests'
  expect((await node.api('POST', `${path}/fetch`, { listener: 'one' })).status).toBe(404)
  expect((await node.api('POST', `${path}/req_none/answer`, { status: 200 })).status).toBe(404)
  expect(await node.api('POST', `${path}/fetch`, { listener: 'one', waitSeconds: 21 })).toMatchObject({
    status: 400,
    body: { path: 'waitSeconds' },
  })
})
