/** Destinations with a retry window of their own. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Source } from '../../src/schemas/source.ts'
import { createAudience, ended, getSync, upload, users } from '../audiences/setup.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { deliveryPath, list, track, untilStatus } from '../support/deliveries.ts'
import { startReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const limit = 180_000

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { POSTRIDER_RETRY_WINDOW: '3s' } })
})
afterAll(() => node[Symbol.asyncDispose]())

const setWindow = async (id: string, retryWindowHours: number | null) =>
  node.api<{ retryWindowHours: number | null; path?: string }>('PATCH', `/destinations/${id}`, { retryWindowHours })

const messageIdOf = ({ body }: ReceivedRequest): string =>
  (JSON.parse(body.toString()) as { messageId: string }).messageId

/** Posts so many events at once. */
const flood = async ({ writeKey }: Source, count: number, to: TestApp = node): Promise<void> => {
  const batch = Array.from({ length: count }, (_, n) => ({ type: 'track', userId: `u${n}`, event: 'Ordered' }))
  expect((await to.post('/batch', writeKey, { batch })).status).toBe(200)
}

const all = (source: Source): Promise<Delivery[]> => list(node, { sourceId: source.id, limit: '200' })

/** The own windows of a delivery's destinations. */
const windowsOf = async (id: string): Promise<(number | undefined)[]> => {
  const { body } = await node.api<DeliveryDetail>('GET', deliveryPath(id))
  return body.destinations.map(({ retryWindowMs }) => retryWindowMs)
}

/** Resolves when so many deliveries of the source have that status, and there are no others. */
const allAre = (source: Source, count: number, status: string): Promise<unknown> =>
  until(`${count} are ${status}`, async () => {
    const items = await all(source)
    return items.length === count && items.every((item) => item.status === status)
  })

it('retry for as long as is set there, whether events travel alone or together', { timeout: limit }, async () => {
  await using receiver = await startReceiver()
  await using other = await startReceiver()
  for (const one of [receiver, other]) one.answer({ status: 503 })
  const [patient, short] = [await node.createSource('Patient'), await node.createSource('Short')]
  const { id } = await node.connect([patient], [receiver.url])
  await node.connect([short], [other.url])
  expect((await setWindow(id, 1)).body.retryWindowHours).toBe(1)

  const alone = await track(node, patient, { userId: 'u1', event: 'Alone', messageId: 'alone' })
  await Promise.all([flood(patient, 60), flood(short, 60)])
  await allAre(short, 60, 'failed')
  // Those of the other destination came before the newest of these.
  expect((await all(patient)).filter(({ endedAt }) => endedAt !== null)).toEqual([])
  const [others, [given]] = [await all(patient), await all(short)]
  for (const delivery of [alone, others.find((one) => one.id !== alone)?.id ?? ''])
    expect(await windowsOf(delivery)).toEqual([3_600_000])
  expect(await windowsOf(given?.id ?? '')).toEqual([undefined])

  receiver.answer({})
  await untilStatus(node, alone, 'delivered')
  await allAre(patient, 61, 'delivered')
})

it('pause between attempts as is set there, whether events travel alone or together', { timeout: limit }, async () => {
  await using patient = await startTestApp({
    environment: { POSTRIDER_RETRY_INITIAL: '1h', POSTRIDER_RETRY_MAX: '1h', POSTRIDER_RETRY_WINDOW: '12h' },
  })
  await using quick = await startReceiver()
  await using slow = await startReceiver()
  for (const one of [quick, slow]) one.answer({ status: 503 })
  const source = await patient.createSource('Paused')
  const { id, retryPauses } = await patient.connect([source], [quick.url])
  await patient.connect([source], [slow.url])
  expect(retryPauses).toBeNull()
  const change = { retryPauses: { firstSeconds: 1, maxSeconds: 10 } }
  expect((await patient.api('PATCH', `/destinations/${id}`, change)).body).toMatchObject(change)

  await track(patient, source, { userId: 'u1', event: 'Alone', messageId: 'alone' })
  const requestsOf = (messageId: string, receiver: Receiver): number =>
    receiver.requests.filter((request) => messageIdOf(request) === messageId).length
  await until('some attempts were made', () => requestsOf('alone', quick) >= 4)
  expect(requestsOf('alone', slow)).toBe(1)

  // So few that the endpoint does not count as down.
  const failed = new Set<string>()
  quick.answer((request) => {
    const messageId = messageIdOf(request)
    if (messageId === 'alone' || failed.size >= 15 || failed.has(messageId)) return {}
    failed.add(messageId)
    return { status: 503 }
  })
  await flood(source, 60, patient)
  await until(
    'all were tried again',
    () => failed.size === 15 && [...failed].every((messageId) => requestsOf(messageId, quick) === 2),
  )
})

it('are patient with a destination of syncs, too', { timeout: 2 * limit }, async () => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  // The window is that of its endpoint, and the pauses are the destination's.
  const { id } = await node.connect([], [receiver.url], { options: { retryWindowHours: 1 } })
  const other = await node.connect([], [receiver.url])
  const retryPauses = { firstSeconds: 30, maxSeconds: 30 }
  expect(await node.api('PATCH', `/destinations/${id}`, { retryPauses })).toMatchObject({ status: 200 })
  const patient = await createAudience(node, [id], { name: 'Patient' })
  const short = await createAudience(node, [other.id], { name: 'Short' })

  // More calls than are under way, and make an endpoint count as down, together.
  const patientSync = await upload(node, patient, users(300))
  // An activity that was lost on a slow machine goes on call by call, one after each pause.
  const isMet = async () => (await getSync(node, patient, patientSync)).handedOn > 0
  await until('its destination was called', isMet, limit)
  expect((await ended(node, short, await upload(node, short, users(300)))).status).toBe('failed')
  // It began before the one that was given up.
  expect((await getSync(node, patient, patientSync)).status).toBe('running')
  receiver.answer({})
  expect((await ended(node, patient, patientSync)).status).toBe('completed')
})

it('have pauses within bounds, and refuse others by name', async () => {
  const { id } = await node.connect([], [])
  for (const [retryPauses, path] of [
    [{ firstSeconds: 0, maxSeconds: 60 }, 'retryPauses.firstSeconds'],
    [{ firstSeconds: 1, maxSeconds: 9 }, 'retryPauses.maxSeconds'],
    [{ firstSeconds: 61, maxSeconds: 60 }, 'retryPauses.maxSeconds'],
    [{ firstSeconds: 1 }, 'retryPauses.maxSeconds'],
  ] as const)
    expect(await node.api('PATCH', `/destinations/${id}`, { retryPauses })).toMatchObject({
      status: 400,
      body: { path },
    })
})

it('are as the node is set up unless they say otherwise, and refuse what is out of bounds by name', async () => {
  const { id, retryWindowHours } = await node.connect([], [])
  expect(retryWindowHours).toBeNull()
  for (const hours of [0, 73, 1.5])
    expect(await setWindow(id, hours)).toMatchObject({ status: 400, body: { path: 'retryWindowHours' } })
  expect((await setWindow(id, 72)).body.retryWindowHours).toBe(72)
  expect((await setWindow(id, null)).body.retryWindowHours).toBeNull()
})
