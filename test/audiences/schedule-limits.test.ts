import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Audience } from '../../src/schemas/audience.ts'
import { startTestApp, type TestApp } from '../support/app.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

const membership = { kind: 'http', url: 'http://127.0.0.1:9/members' }

it.each([
  [{ interval: '1s' }, 'schedule.interval must be at least 60s: each sync reads all members'],
  [{ interval: '0.9m' }, 'schedule.interval must be at least 60s: each sync reads all members'],
  [{ cron: '@every 1s' }, 'schedule.cron must have five fields, as in 0 6 * * *'],
  [{ cron: '*/5 * * * * * *' }, 'schedule.cron must have five fields, as in 0 6 * * *'],
])('refuses to sync more often than once a minute: %j', async (schedule, message) => {
  const refusal = { code: 'bad_request', path: expect.stringMatching(/^schedule\./) as string, message: `${message}.` }
  expect(await node.api('POST', '/audiences', { name: 'Eager', membership, schedule })).toMatchObject({
    status: 400,
    body: refusal,
  })
  const { body } = await node.api<Audience>('POST', '/audiences', { name: 'Eager', membership })
  expect(await node.api('PATCH', `/audiences/${body.id}`, { schedule })).toMatchObject({ status: 400, body: refusal })
  const change = { kind: 'audiences', action: 'update', id: body.id, body: { schedule } }
  expect(await node.api('POST', '/apply', { changes: [change] })).toMatchObject({ status: 400 })
})

it.each([{ interval: '60s' }, { interval: '1 m' }, { cron: '* * * * *' }, { cron: '@hourly' }])(
  'takes %j',
  async (schedule) => {
    const input = { name: 'Patient', membership, schedule }
    expect(await node.api('POST', '/audiences', input)).toMatchObject({ status: 201, body: { schedule } })
  },
)
