/** Symptom: the sync of an audience failed when the node's own database was away for a minute while the membership was
 *  fetched, or for the retry window while changes were sent; and the node ended when the database went away in between.
 *  Cause: the tries were counted, whoever was at fault, and a page that was read ahead had nobody for its failure.
 *  Consequence: our own faults are repeated without end; only tries at the membership's source, and at an endpoint that is
 *  down, are bounded. A failure of reading ahead is met where the page is awaited. */

import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { audienceWorkflowId } from '../../src/contracts/audience-sync.ts'
import type { Audience } from '../../src/schemas/audience.ts'
import { createAudience, ended, start, state, upload, users, type AudienceOptions } from '../audiences/setup.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type Answer, type Receiver } from '../support/receiver.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { until } from '../support/wait.ts'

const missing = findPostgres() === undefined

/** More than a source has, and with the pauses between them more than the retry window of this test. */
const manyAttempts = 8

const limitMs = 60_000

describe.skipIf(missing)('the sync of an audience', () => {
  let postgres: PostgresServer
  let relay: TcpRelay
  let node: TestApp
  beforeAll(async () => {
    postgres = await startPostgres()
    relay = await startTcpRelay(postgres.port)
    const url = new URL(await postgres.createDatabase())
    url.port = String(relay.port)
    const environment = { DATABASE_URL: url.href, POSTRIDER_RETRY_WINDOW: '4s' }
    node = await startTestApp({ environment, logger: pino({ level: 'fatal' }) })
  })
  afterAll(async () => {
    await node[Symbol.asyncDispose]()
    await relay[Symbol.asyncDispose]()
    await postgres.stop()
  })

  const receiverThat = async (...answer: Parameters<Receiver['answer']>): Promise<Receiver> => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    receiver.answer(...answer)
    return receiver
  }
  const audienceOf = async (destination: Receiver, options: AudienceOptions = {}): Promise<Audience> =>
    createAudience(node, [(await node.connect([], [destination.url])).id], options)
  const pullFrom = ({ url }: Receiver) => ({ membership: { kind: 'http', url } })
  const membership: Answer = { headers: { 'content-type': 'text/csv' }, body: 'userId\nu1\n' }

  /** @throws Error when the workflow is over */
  const attemptsAt = async ({ id }: Audience, activity: string): Promise<number> => {
    const { raw, status } = await node.app.temporal.client.workflow.getHandle(audienceWorkflowId(id)).describe()
    if (status.name !== 'RUNNING') throw new Error(`the syncs are over: ${status.name}`)
    return raw.pendingActivities?.find(({ activityType }) => activityType?.name === activity)?.attempt ?? 0
  }

  /** Takes the database away until the activity has failed often. */
  const outage = async (audience: Audience, activity: string): Promise<void> => {
    relay.shut()
    try {
      const isTriedOften = async () => (await attemptsAt(audience, activity)) >= manyAttempts
      await until(`${activity} is tried often`, isTriedOften, limitMs)
    } finally {
      relay.open()
    }
    await until('the database is back', async () => (await fetch(`${node.url}/readyz`)).ok)
  }

  it('outlives a database that is away while the membership is fetched', { timeout: 2 * limitMs }, async () => {
    const destination = await receiverThat({})
    const source = await receiverThat((_, index) => {
      if (index === 0) relay.shut()
      return membership
    })
    const audience = await audienceOf(destination, pullFrom(source))
    const syncId = await start(node, audience, 'sync')
    await source.received(1)
    await outage(audience, 'loadMembership')
    expect(await ended(node, audience, syncId)).toMatchObject({ status: 'completed', sent: 1 })
    expect(state(destination.requests)).toEqual({ u1: true })
  })

  it('outlives a database that is away while changes are sent', { timeout: 2 * limitMs }, async () => {
    const destination = await receiverThat({})
    const audience = await audienceOf(destination, { maxPerSecond: 20 })
    const syncId = await upload(node, audience, users(60))
    await destination.received(10)
    await outage(audience, 'sendChanges')
    expect(await ended(node, audience, syncId)).toMatchObject({ status: 'completed', failed: 0 })
    expect(Object.keys(state(destination.requests))).toHaveLength(60)
  })

  it('fails when the source of its membership does, six times', async () => {
    const source = await receiverThat({ status: 503 })
    const audience = await audienceOf(await receiverThat({}), pullFrom(source))
    const sync = await ended(node, audience, await start(node, audience, 'sync'))
    expect(sync).toMatchObject({ status: 'failed', reason: expect.stringContaining('503') as string })
    expect(source.requests).toHaveLength(6)
  })

  it('fails when an endpoint is down for the whole retry window', async () => {
    const audience = await audienceOf(await receiverThat({ status: 503 }))
    const sync = await ended(node, audience, await upload(node, audience, users(200)))
    expect(sync).toMatchObject({ status: 'failed', reason: 'the destination is down' })
  })
})
