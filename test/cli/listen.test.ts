import { expect, it } from 'vitest'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { startTestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { openShell } from './command.ts'

interface Listening {
  listening: string
  destinationId: string
}

it('shows and forwards what comes, and holds what comes while it is off until it is back', async () => {
  await using node = await startTestApp()
  await using shell = await openShell(node.url)
  await using local = await startReceiver()
  const source = await node.createSource('Website')
  const send = (event: string) => node.post('/track', source.writeKey, { userId: 'u1', event, messageId: event })
  const command = ['listen', 'Website', '--forward-to', `${local.url}/hook`, '--header', 'X-From: listen', '--json']

  const first = shell.start(command)
  const { destinationId, listening } = JSON.parse(await first.line('"listening"')) as Listening
  await send('While on')
  expect(JSON.parse(await first.line('While on'))).toMatchObject({
    type: 'track',
    event: 'While on',
    userId: 'u1',
    genuine: true,
    status: 200,
    forwarded: '200',
  })
  const [forwarded] = await local.received(1)
  expect(forwarded).toMatchObject({ method: 'POST', path: '/hook', headers: { 'x-from': 'listen' } })
  expect(forwarded?.headers['x-signature']).toMatch(/^[0-9a-f]{40}$/)
  expect(JSON.parse(forwarded?.body.toString() ?? '')).toMatchObject({ event: 'While on' })

  // Not signed by the node: neither forwarded nor accepted.
  const forged = await fetch(listening, { method: 'POST', body: '{"type":"track","event":"Forged"}' })
  expect(forged.status).toBe(401)
  expect(JSON.parse(await first.line('Forged'))).toMatchObject({ genuine: false, forwarded: null })
  expect((await fetch(listening, { method: 'POST', body: 'x'.repeat(1_000_000) })).status).toBe(413)

  // What the local program answers is what the node gets to know.
  local.answerInTurn({ status: 503 }, {})
  await send('At the second try')
  await local.received(3)

  expect((await first.interrupt()).code).toBe(0)
  const { body: paused } = await node.api<Destination>('GET', `/destinations/${destinationId}`)
  expect(paused.paused).toBe(true)
  await send('While off')
  await until('the event to be held', async () => {
    const { body } = await node.api<{ items: Delivery[] }>('GET', '/deliveries?status=held')
    return body.items.some(({ event }) => event === 'While off')
  })
  expect(local.requests).toHaveLength(3)

  await using second = shell.start(command)
  expect(JSON.parse(await second.line('"listening"'))).toMatchObject({ destinationId })
  expect(JSON.parse(await second.line('While off'))).toMatchObject({ genuine: true, status: 200 })
  await local.received(4)
  expect((await node.api<{ items: unknown[] }>('GET', '/destinations')).body.items).toHaveLength(1)
  expect((await second.interrupt()).code).toBe(0)
})
