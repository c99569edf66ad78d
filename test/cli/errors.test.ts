/** What a user at a shell reads when something is refused, or nobody answers: each says how to go on. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'
import { openShell, type Shell } from './command.ts'

/** Different wrong tokens after which an address has to wait. */
const wrongTokens = 20

let wayToTemporal: TcpRelay
let wayToNode: TcpRelay
let node: TestApp
let shell: Shell
let receiver: Receiver
let deliveryId: string

beforeAll(async () => {
  wayToTemporal = await startTcpRelay(Number(temporalAddress().split(':')[1]))
  node = await startTestApp({ environment: { TEMPORAL_ADDRESS: `127.0.0.1:${wayToTemporal.port}` } })
  wayToNode = await startTcpRelay(Number(new URL(node.url).port))
  shell = await openShell(`http://127.0.0.1:${wayToNode.port}`)
  receiver = await startReceiver()
  const source = await node.createSource('Website')
  await node.connect([source], [receiver.url])
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Sent', messageId: 'sent' })
  deliveryId = `event/${source.id}/sent`
  await until('it is delivered', async () => {
    const { body } = await node.api<{ status: string }>('GET', `/deliveries/${encodeURIComponent(deliveryId)}`)
    return body.status === 'delivered'
  })
})
afterAll(async () => {
  await shell[Symbol.asyncDispose]()
  await receiver.close()
  await wayToNode[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
  await wayToTemporal[Symbol.asyncDispose]()
})

it('409: what does not fit says what does', async () => {
  expect(await shell.run(['deliveries', 'retry', deliveryId])).toMatchObject({
    code: 1,
    stderr: 'postrider: the delivery is over: redeliver it to send it again\n',
  })
})

it('429: after many wrong tokens, how long to wait', async () => {
  for (let tries = 0; tries < wrongTokens; tries++)
    await fetch(`${node.url}/api/v1/sources`, { headers: { authorization: `Bearer wrong-${tries}` } })
  const { code, stderr } = await shell.run(['sources', 'list', '--token', 'wrong-again'])
  expect(code).toBe(1)
  expect(stderr).toMatch(/^postrider: too many wrong tokens .*: only the right one is taken now; try again in \d+ s$/m)
  expect((await shell.run(['sources', 'list'])).code).toBe(0)
})

it('503: what is away, why, and when to try again', async () => {
  wayToTemporal.freeze()
  try {
    const { code, stderr } = await shell.run(['deliveries', 'redeliver', deliveryId])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^postrider: Temporal is away: .+; try again in \d+ s$/m)
  } finally {
    wayToTemporal.open()
  }
})

it('without a network: where it looked, and whether something may be done all the same', async () => {
  const { port } = wayToNode
  wayToNode.shut()
  try {
    const read = await shell.run(['sources', 'list'])
    expect(read.code).toBe(3)
    expect(read.stderr).toMatch(
      new RegExp(`^postrider: http://127.0.0.1:${port} does not answer \\(.+\\)\\. Is the node`),
    )
    const lost = await shell.run(['deliveries', 'redeliver', deliveryId])
    expect(lost.code).toBe(3)
    expect(lost.stderr).toContain(
      '. It may be done all the same: look before you try again. Is the node running there?',
    )
  } finally {
    wayToNode.open()
  }
  const nobody = await startTcpRelay(Number(new URL(node.url).port))
  await nobody[Symbol.asyncDispose]()
  const env = { POSTRIDER_ADDRESS: `http://127.0.0.1:${nobody.port}` }
  const refused = await shell.run(['sources', 'create', 'Nobody'], { env })
  expect(refused.code).toBe(3)
  expect(refused.stderr).toContain(`ECONNREFUSED 127.0.0.1:${nobody.port}). Is the node running there?`)
})
