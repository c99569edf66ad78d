/** What a user at a shell reads when something is refused, or nobody answers: each says how to go on. */

import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
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

/** What the doctor finds to be wrong. */
async function problems(env: Record<string, string> = {}): Promise<string[]> {
  const { code, stdout } = await shell.run(['doctor', '--json'], { env })
  expect(code).toBe(1)
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string }[] }
  return checks.flatMap(({ name, state }) => (state === 'problem' ? name : []))
}

it('409: what does not fit says what does', async () => {
  expect(await shell.run(['deliveries', 'retry', deliveryId])).toMatchObject({
    code: 1,
    stderr: 'postrider: The delivery is over: redeliver it to send it again.\n',
  })
})

it('429: after many wrong tokens, how long to wait', async () => {
  for (let tries = 0; tries < wrongTokens; tries++)
    await fetch(`${node.url}/api/v1/sources`, { headers: { authorization: `Bearer wrong-${tries}` } })
  const { code, stderr } = await shell.run(['sources', 'list', '--token', 'wrong-again'])
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /^postrider: Too many wrong tokens .*: only the right one is taken now; try again in \d+ s\.$/m,
  )
  expect((await shell.run(['sources', 'list'])).code).toBe(0)
})

it('503: what is away, why, and when to try again', async () => {
  wayToTemporal.freeze()
  try {
    const { code, stderr } = await shell.run(['deliveries', 'redeliver', deliveryId])
    expect(code).toBe(3)
    expect(stderr).toMatch(/^postrider: Temporal is away: .+; try again in \d+ s\.$/m)
    expect(await problems()).toContain('Temporal of the node')
  } finally {
    wayToTemporal.open()
  }
})

describe.skipIf(findPostgres() === undefined)('503 of a node', () => {
  it('names the database, stopped or ended, and so does the doctor', async () => {
    const server = await startPostgres()
    const other = await startTestApp({ environment: { DATABASE_URL: await server.createDatabase() } })
    const env = { POSTRIDER_ADDRESS: other.url }
    const expectNamed = async (): Promise<void> => {
      const { code, stderr } = await shell.run(['sources', 'list'], { env })
      expect(code).toBe(3)
      expect(stderr).toMatch(/^postrider: The database is away: .+; try again in \d+ s\.\n$/)
      expect(await problems(env)).toContain('database of the node')
    }
    try {
      server.freeze()
      await expectNamed()
      server.thaw()
      await server.halt()
      await expectNamed()
      await server.resume()
    } finally {
      await other[Symbol.asyncDispose]()
      await server.stop()
    }
  })
})

it('waits no longer for a delivery than it was told', async () => {
  const { body: made } = await node.api<{ writeKey: string }>('POST', '/sources', { name: 'Slow' })
  wayToNode.freeze()
  try {
    const call = ['send', 'track', '--write-key', made.writeKey, '--user-id', 'u1', '--event', 'E', '--timeout', '1s']
    const { code, stderr } = await shell.run(call)
    expect(code).toBe(6)
    expect(stderr).toMatch(/ did not answer within --timeout\.( It may be done all the same: .*)?\n$/)
  } finally {
    wayToNode.open()
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

it('of a node whose answers are of another version: what to look at, before the trace', async () => {
  const other = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end('{"items":[{"id":"event/src_1/m1"}],"nextCursor":null}')
  }).listen(0, '127.0.0.1')
  await once(other, 'listening')
  try {
    const env = { POSTRIDER_ADDRESS: `http://127.0.0.1:${(other.address() as AddressInfo).port}` }
    const { code, stderr } = await shell.run(['deliveries', 'list'], { env })
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^postrider: an unexpected fault: .+ Is the node of the version of this command, \d+\.\d+\.\d+\? See: postrider status\n/,
    )
    const asJson = await shell.run(['deliveries', 'list', '--json'], { env })
    expect(asJson.code === 0 ? asJson.stdout : asJson.stderr).not.toContain('    at ')
  } finally {
    other.close()
  }
})
