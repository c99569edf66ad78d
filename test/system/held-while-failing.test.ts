/** Destinations that are held while every endpoint fails, and go on by themselves. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { AuditEntry } from '../../src/schemas/audit.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { Destination, DestinationView } from '../../src/schemas/destination.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startSharedParts } from '../support/shared-parts.ts'
import { until } from '../support/wait.ts'

const timeout = 240_000
const limitMs = 120_000
const holdAtOnce = { onFailing: 'hold', holdAfterSeconds: 1 }

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

const read = async (id: string, on: Pick<TestApp, 'api'> = node): Promise<DestinationView> =>
  (await on.api<DestinationView>('GET', `/destinations/${id}`)).body
const patch = (id: string, change: object, on: Pick<TestApp, 'api'> = node) =>
  on.api<Destination>('PATCH', `/destinations/${id}`, change)
const untilHeld = (id: string, on: Pick<TestApp, 'api'> = node): Promise<DestinationView> =>
  until(
    `${id} is held`,
    async () => {
      const destination = await read(id, on)
      return destination.held !== null && destination
    },
    limitMs,
  )
const untilResumed = (id: string, on: Pick<TestApp, 'api'> = node): Promise<unknown> =>
  until(`${id} is resumed`, async () => !(await read(id, on)).paused, limitMs)
const untilAll = (status: string, sourceId: string, count: number, on: Pick<TestApp, 'api'> = node) =>
  until(
    `${count} are ${status}`,
    async () => {
      const { body } = await on.api<{ count: number }>('GET', `/deliveries/count?sourceId=${sourceId}&status=${status}`)
      return body.count === count
    },
    limitMs,
  )
const idsOf = ({ requests }: Receiver): string[] =>
  requests.map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId)
const isProbe = (messageId: string): boolean => messageId.startsWith('probe-')
const track = (writeKey: string, messageId: string, on: Pick<TestApp, 'post'> = node) =>
  on.post('/track', writeKey, { messageId, userId: 'u1', event: 'E' })

/** A destination whose receiver fails, with an event that waits for it. */
async function failing(receiver: Receiver, settings: object = holdAtOnce, on: TestApp = node) {
  receiver.answer({ status: 503 })
  const source = await on.createSource()
  const { id } = await on.connect([source], [receiver.url])
  await patch(id, settings, on)
  await track(source.writeKey, `first-${id}`, on)
  return { source, id }
}

it('is off unless asked for, and refuses what is out of bounds by name', async () => {
  const { id, onFailing, holdAfterSeconds, held } = await node.connect([], [])
  expect({ onFailing, holdAfterSeconds, held }).toEqual({ onFailing: 'retry', holdAfterSeconds: 300, held: null })
  for (const seconds of [0, 86_401, 1.5])
    expect(await patch(id, { holdAfterSeconds: seconds })).toMatchObject({
      status: 400,
      body: { path: 'holdAfterSeconds' },
    })
  expect(await patch(id, { onFailing: 'stop' })).toMatchObject({ status: 400, body: { path: 'onFailing' } })
})

it('holds what waits, probes, and delivers all of it once the endpoint answers', { timeout }, async () => {
  await using receiver = await startReceiver()
  const { source, id } = await failing(receiver)
  const { held, paused } = await untilHeld(id)
  expect(paused).toBe(true)
  expect(Date.parse(held?.since ?? '')).toBeGreaterThan(Date.parse(held?.failingSince ?? '') + 999)
  await track(source.writeKey, 'while-held')
  await untilAll('held', source.id, 2)
  const metrics = await (await fetch(`${node.url}/metrics`)).text()
  expect(metrics).toContain('postrider_destinations_held 1')
  await until('it is probed', () => idsOf(receiver).some(isProbe), limitMs)

  receiver.answer({})
  await untilAll('delivered', source.id, 2)
  expect(new Set(idsOf(receiver))).toContain('while-held')
  const destination = await read(id)
  expect(destination).toMatchObject({
    paused: false,
    held: null,
    endpoints: [{ state: 'working', failingSince: null }],
  })

  const { body } = await node.api<Page<AuditEntry>>('GET', `/audit-log?subject=destinations/${id}`)
  const byNode = body.items.filter(({ actor }) => actor === 'postrider')
  expect(byNode).toMatchObject([
    { action: 'destinations.resume', outcome: 'done', after: { answered: destination.settings.webhooks[0]?.id } },
    { action: 'destinations.hold', outcome: 'done', after: { failingSince: held?.failingSince } },
  ])
})

it('goes on as before while one endpoint works, or nobody asked for a hold', { timeout }, async () => {
  await using broken = await startReceiver()
  await using good = await startReceiver()
  broken.answer({ status: 503 })
  const source = await node.createSource()
  const mixed = await node.connect([source], [broken.url, good.url], { successPolicy: 'all' })
  await patch(mixed.id, holdAtOnce)
  const plain = await node.connect([source], [broken.url])
  await track(source.writeKey, 'not-held')
  await good.received(1)
  // The third one is held: by then the two others had been looked at, too.
  await using receiver = await startReceiver()
  const third = await failing(receiver)
  await untilHeld(third.id)
  for (const { id } of [mixed, plain]) expect(await read(id)).toMatchObject({ paused: false, held: null })
})

it('leaves the pause of an operator to operators, also that of a destination which was held', { timeout }, async () => {
  await using receiver = await startReceiver()
  const { source, id } = await failing(receiver)
  await untilHeld(id)
  expect((await patch(id, { paused: true })).body).toMatchObject({ paused: true, held: null })
  receiver.answer({})
  await using other = await startReceiver()
  const beside = await failing(other)
  await untilHeld(beside.id)
  other.answer({})
  // What is held beside it is found to answer and resumed meanwhile; the workflow of the first one has ended.
  await untilAll('delivered', beside.source.id, 1)
  await until('the hold has ended', async () => {
    const { status } = await node.app.temporal.client.workflow.getHandle(`hold/${id}`).describe()
    return status.name === 'COMPLETED'
  })
  expect(await read(id)).toMatchObject({ paused: true, held: null })
  expect(idsOf(receiver).filter((messageId) => messageId === `first-${id}`).length).toBeGreaterThan(0)
  await patch(id, { paused: false })
  await untilAll('delivered', source.id, 1)
})

it('ends with the operator’s resumption, with `retry`, and when it is switched off', { timeout }, async () => {
  for (const change of [{ paused: false }, { onFailing: 'retry' }]) {
    await using receiver = await startReceiver()
    const { source, id } = await failing(receiver)
    await untilHeld(id)
    await untilAll('held', source.id, 1)
    receiver.answer({})
    expect((await patch(id, { ...change, holdAfterSeconds: 3_600 })).body).toMatchObject({ paused: false, held: null })
    await untilAll('delivered', source.id, 1)
  }
  await using receiver = await startReceiver()
  const { source, id } = await failing(receiver)
  await untilHeld(id)
  expect((await patch(id, { enabled: false })).body).toMatchObject({ enabled: false, paused: false, held: null })
  await untilAll('discarded', source.id, 1)
})

it('is started anew where its workflow was ended from outside', { timeout }, async () => {
  await using receiver = await startReceiver()
  const { source, id } = await failing(receiver)
  await untilHeld(id)
  await node.app.temporal.client.workflow.getHandle(`hold/${id}`).terminate('test')
  receiver.answer({})
  await untilResumed(id)
  await untilAll('delivered', source.id, 1)
})

const missing = findPostgres() === undefined
if (missing) console.warn('No PostgreSQL binaries here: holds of two nodes are not tested.')

describe.skipIf(missing)('two nodes on one database', () => {
  it('hold once, and the one that stays resumes what the other held', { timeout }, async () => {
    await using parts = await startSharedParts()
    await using receiver = await startReceiver()
    await using second = await parts.start()
    const { source, id } = await holdWithAnother()
    receiver.answer({})
    await untilResumed(id, second)
    await untilAll('delivered', source.id, 1, second)
    const { body } = await second.api<Page<AuditEntry>>('GET', `/audit-log?subject=destinations/${id}`)
    const actions = body.items.filter(({ actor }) => actor === 'postrider').map(({ action }) => action)
    expect(actions).toEqual(['destinations.resume', 'destinations.hold'])
    const { body: list } = await second.api<Page<Delivery>>('GET', `/deliveries?sourceId=${source.id}`)
    expect(list.items).toHaveLength(1)

    /** Both look for what fails; then the other one is gone. */
    async function holdWithAnother() {
      await using first = await parts.start()
      const made = await failing(receiver, holdAtOnce, first)
      await untilHeld(made.id, first)
      await untilHeld(made.id, second)
      return made
    }
  })
})
