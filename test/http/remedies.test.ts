/** Errors of the state of things: each says how to mend it, in the answer itself. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Audience } from '../../src/schemas/audience.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

interface Refusal {
  code: string
  message: string
}

/** Open streams of live events that a node has at most. */
const maxStreams = 50

let node: TestApp
let wayToTemporal: TcpRelay
let receiver: Receiver
beforeAll(async () => {
  wayToTemporal = await startTcpRelay(Number(temporalAddress().split(':')[1]))
  receiver = await startReceiver()
  node = await startTestApp({ environment: { TEMPORAL_ADDRESS: `127.0.0.1:${wayToTemporal.port}` } })
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await receiver.close()
  await wayToTemporal[Symbol.asyncDispose]()
})

const refused = async (method: string, path: string, body?: unknown) => {
  const answer = await node.api<Refusal>(method, path, body)
  return { status: answer.status, message: answer.body.message }
}

describe('a text that the database cannot keep', () => {
  const answer = {
    status: 400,
    message: 'A text has the character NUL (U+0000), which cannot be kept: leave it out.',
  }

  it('is refused as such, in a name, in JSON and in a filter', async () => {
    expect(await refused('POST', '/sources', { name: 'a\u0000b' })).toEqual(answer)
    const destination = { name: 'Nul', type: 'webhooks', settings: { webhooks: [] } }
    expect(await refused('POST', '/destinations', { ...destination, filter: { events: ['a\u0000b'] } })).toEqual(answer)
    expect(await refused('GET', '/deliveries?messageId=%00')).toEqual(answer)
  })
})

describe('a conflict says how to mend it', () => {
  it('where a name or a key is taken', async () => {
    await node.createSource('Shop')
    expect(await refused('POST', '/sources?uniqueName=true', { name: 'Shop' })).toEqual({
      status: 409,
      message: 'name: another source has this name: choose another one.',
    })
    await node.api('POST', '/tokens', { name: 'CI', role: 'viewer' })
    expect(await refused('POST', '/tokens', { name: 'CI', role: 'viewer' })).toEqual({
      status: 409,
      message: 'name: another token has this name: choose another one, or revoke that one first.',
    })
    const destination = await node.connect([await node.createSource()], [receiver.url])
    const audience = { name: 'Buyers', destinationIds: [destination.id] }
    await node.api('POST', '/audiences', audience)
    expect(await refused('POST', '/audiences', { ...audience, name: 'buyers' })).toEqual({
      status: 409,
      message:
        `The audience "Buyers" already has the key buyers in the destination "${destination.name}": ` +
        'choose another name, which makes another key, or leave out that destination.',
    })
  })

  it('where an action does not fit a delivery', async () => {
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Done', messageId: 'done' })
    const path = `/deliveries/${encodeURIComponent(`event/${source.id}/done`)}`
    await until('it is delivered', async () => (await node.api<Delivery>('GET', path)).body.status === 'delivered')
    for (const action of ['retry', 'cancel'])
      expect(await refused('POST', `${path}/${action}`)).toEqual({
        status: 409,
        message: 'The delivery is over: redeliver it to send it again.',
      })
    await node.api('PATCH', `/destinations/${destination.id}`, { enabled: false })
    expect(await refused('POST', `${path}/redeliver`)).toEqual({
      status: 409,
      message:
        'Each destination of this delivery is deleted, switched off or without an endpoint: switch one on, then redeliver.',
    })
  })

  it('where an action does not fit an audience or its sync', async () => {
    const { body: audience } = await node.api<Audience>('POST', '/audiences', { name: 'Pushed' })
    const { body } = await node.api<{ syncId: string }>('POST', `/audiences/${audience.id}/members`, { add: ['u1'] })
    const path = `/audiences/${audience.id}/syncs/${body.syncId}`
    await until('the sync is completed', async () => {
      const sync = await node.api<{ status: string }>('GET', path)
      return sync.body.status === 'completed'
    })
    expect(await refused('POST', `${path}/stop`)).toEqual({
      status: 409,
      message: 'The sync is completed: there is nothing to stop any more.',
    })
    expect(await refused('POST', `${path}/confirm`)).toEqual({
      status: 409,
      message: 'The sync is completed: only one that was refused has to be confirmed.',
    })
    const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
    expect(await refused('POST', `/audiences/${audience.id}/backfill`, range)).toEqual({
      status: 409,
      message: 'The audience has no schedule: give it one first.',
    })
  })
})

describe('a refusal for a while says until when', () => {
  it('of wrong tokens', async () => {
    const answers = []
    for (let tries = 0; tries < 11; tries++) {
      const body = JSON.stringify({ token: `wrong ${tries}` })
      const headers = { 'content-type': 'application/json' }
      answers.push(await fetch(`${node.url}/api/v1/session`, { method: 'POST', headers, body }))
    }
    const last = answers.at(-1)
    expect(last?.status).toBe(429)
    const seconds = last?.headers.get('retry-after')
    expect(await last?.json()).toMatchObject({
      code: 'too_many_requests',
      message: `Too many wrong tokens came from this address: only the right one is taken now; try again in ${seconds} s.`,
    })
  })

  it('of live events, beyond the streams that a node has', async () => {
    const { id } = await node.createSource()
    const end = new AbortController()
    const open = () =>
      fetch(`${node.url}/api/v1/sources/${id}/live`, {
        headers: { authorization: `Bearer ${adminToken}` },
        signal: end.signal,
      })
    await Promise.all(Array.from({ length: maxStreams }, open))
    const answer = await open()
    expect(answer.status).toBe(429)
    expect(await answer.json()).toMatchObject({
      message: 'As many pages show live events as a node serves: close one of them; try again in 30 s.',
    })
    end.abort()
  })

  it('of what needs Temporal while it is away', async () => {
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Done', messageId: 'before' })
    await receiver.received(1)
    wayToTemporal.freeze()
    try {
      const headers = { authorization: `Bearer ${adminToken}` }
      const path = encodeURIComponent(`event/${source.id}/before`)
      const answer = await fetch(`${node.url}/api/v1/deliveries/${path}/redeliver`, { method: 'POST', headers })
      expect(answer.status).toBe(503)
      const seconds = answer.headers.get('retry-after')
      expect(await answer.json()).toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(new RegExp(`^Temporal is away: .+; try again in ${seconds} s\\.$`)) as string,
      })
    } finally {
      wayToTemporal.open()
    }
  })
})
