import { cp, rm } from 'node:fs/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { createDestinationStore } from '../../src/db/destinations.ts'
import {
  addListenRequest,
  answeredListenRequests,
  answerListenRequest,
  destinationsWithRequests,
  endLease,
  leaseListening,
  removeListenRequest,
  removeLostListenRequests,
  takeListenRequests,
} from '../../src/db/listen-requests.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { createMailbox } from '../../src/delivery/mailbox.ts'
import { createSender } from '../../src/delivery/send.ts'
import { fetchingUrl, type FetchedRequest } from '../../src/schemas/listen-request.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { makeDataFolder } from '../support/app.ts'
import { until } from '../support/wait.ts'

const box = createSecretBox([{ id: 'k1', key: Buffer.alloc(32, 1) }])
const url = fetchingUrl("Anna's Laptop")
const listener = 'lst_1'

let folder: string
let database: Database
beforeAll(async () => {
  folder = await makeDataFolder()
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  database = await openPglite(folder, pino({ level: 'error' }))
  await migrate(database)
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

const rows = async (): Promise<unknown> =>
  (await database.query<{ count: number }>('select count(*)::int as count from listen_requests'))[0]?.count

async function createDestination(): Promise<{ id: string; endpointId: string }> {
  const destination = await createDestinationStore(database, box).create({
    name: 'listen on a laptop',
    type: 'webhooks',
    enabled: true,
    successPolicy: 'any',
    sourceIds: [],
    settings: { webhooks: [{ url }] },
  })
  return { id: destination.id, endpointId: destination.settings.webhooks[0]?.id ?? '' }
}

const senderOf = () =>
  createSender({
    allowedNetworks: [],
    mailbox: createMailbox({
      add: (request) => addListenRequest(database, box, request),
      answered: (ids) => answeredListenRequests(database, ids),
      remove: (id) => removeListenRequest(database, id),
    }),
  })

const takenBy = (id: string): Promise<FetchedRequest> =>
  until('a request waits', async () => (await takeListenRequests(database, box, id, listener, 10))[0])

it('makes of the status that a listener answers with the outcome of the attempt', async () => {
  expect(url).toBe('https://anna-s-laptop.listen.invalid/')
  const { id, endpointId } = await createDestination()
  const other = await createDestination()
  await leaseListening(database, id, listener, 600)
  const headers = { 'content-type': 'application/json', 'x-of': 'a secret thing' }
  const attempt = (body: string, timeoutMs = 60_000, signal?: AbortSignal) =>
    senderOf().send({ url, endpointId, headers, body, timeoutMs }, signal)

  const taken = attempt('{"event":"A"}')
  const request = await takenBy(id)
  expect(request).toEqual({ id: request.id, method: 'POST', headers, body: '{"event":"A"}' })
  const stored = await database.query('select * from listen_requests')
  expect(JSON.stringify(stored)).not.toContain('a secret thing')
  expect(await takeListenRequests(database, box, id, listener, 10)).toEqual([])
  expect(await destinationsWithRequests(database, [id])).toEqual([])
  expect(await answerListenRequest(database, other.id, request.id, 200)).toBe(false)
  expect(await answerListenRequest(database, id, request.id, 204)).toBe(true)
  expect(await answerListenRequest(database, id, request.id, 500)).toBe(false)
  expect(await taken).toMatchObject({ kind: 'delivered', status: 204 })

  const refused = attempt('{"event":"B"}')
  await answerListenRequest(database, id, (await takenBy(id)).id, 503)
  expect(await refused).toMatchObject({ kind: 'unavailable', status: 503 })

  // Nobody fetches it.
  expect(await attempt('{"event":"C"}', 50)).toMatchObject({ kind: 'unavailable', code: 'timeout' })
  const stop = new AbortController()
  const stopped = attempt('{"event":"D"}', 60_000, stop.signal)
  await takenBy(id)
  stop.abort()
  await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
  expect(await rows()).toBe(0)
})

it('leaves an attempt to be made again where requests are not kept, as on a node of an older version', async () => {
  const sender = createSender({ allowedNetworks: [] })
  const outcome = await sender.send({ url, endpointId: 'ep_1', headers: {}, body: '{}' })
  expect(outcome.kind).toBe('unavailable')
  await sender.close()
})

it('forgets what a killed node left', async () => {
  const { endpointId } = await createDestination()
  const request = { endpointId, method: 'POST' as const, headers: {}, body: '{}' }
  await addListenRequest(database, box, { ...request, id: 'req_left', timeoutMs: -120_000 })
  await addListenRequest(database, box, { ...request, id: 'req_waits', timeoutMs: 60_000 })
  await removeLostListenRequests(database)
  expect(await database.query('select id from listen_requests')).toEqual([{ id: 'req_waits' }])
  await removeListenRequest(database, 'req_waits')
})

it('hands requests out to the listener of their destination alone', async () => {
  const [{ id, endpointId }, other] = [await createDestination(), await createDestination()]
  await addListenRequest(database, box, {
    endpointId,
    id: 'req_1',
    method: 'POST',
    headers: {},
    body: '{}',
    timeoutMs: 60_000,
  })
  expect(await destinationsWithRequests(database, [id, other.id])).toEqual([id])
  expect(await takeListenRequests(database, box, id, 'somebody', 10)).toEqual([])
  await leaseListening(database, id, 'somebody', 600)
  expect(await takeListenRequests(database, box, other.id, 'somebody', 10)).toEqual([])
  expect(await takeListenRequests(database, box, id, 'somebody', 10)).toMatchObject([{ id: 'req_1' }])
  await removeListenRequest(database, 'req_1')
})

it('takes no more requests once it is closed, and waits for those under way', async () => {
  const { id, endpointId } = await createDestination()
  await leaseListening(database, id, listener, 600)
  const sender = senderOf()
  const send = () => sender.send({ url, endpointId, headers: {}, body: '{}', timeoutMs: 60_000 })
  const underWay = send()
  const request = await takenBy(id)
  const closed = sender.close().then(() => 'closed')
  await expect(send()).rejects.toMatchObject({ name: 'AbortError' })
  expect(await Promise.race([closed, Promise.resolve('open')])).toBe('open')
  await answerListenRequest(database, id, request.id, 200)
  expect(await underWay).toMatchObject({ kind: 'delivered' })
  expect(await closed).toBe('closed')
})

it('has one listener for a destination at a time', async () => {
  const { id } = await createDestination()
  expect(await leaseListening(database, id, 'one', 600)).toBe(true)
  expect(await leaseListening(database, id, 'one', 600)).toBe(true)
  expect(await leaseListening(database, id, 'two', 600)).toBe(false)
  await endLease(database, id, 'two')
  expect(await leaseListening(database, id, 'two', 600)).toBe(false)
  await endLease(database, id, 'one')
  expect(await leaseListening(database, id, 'two', -1)).toBe(true)
  expect(await leaseListening(database, id, 'three', 600)).toBe(true)
})
