/** A deletion request destroys the keys of its users: nobody can read any more what Temporal and the database hold of them. */

import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import type { MessageContent } from '../../src/contracts/sealed-message.ts'
import type { Database } from '../../src/db/database.ts'
import type { Page } from '../../src/db/page.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import type { DeletionRequestDetail } from '../../src/schemas/deletion-request.ts'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Source } from '../../src/schemas/source.ts'
import { decode } from '../../src/temporal/opened.ts'
import { payloadInClear } from '../../src/temporal/payload-in-clear.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { inDatabase, inTemporal } from '../support/what-can-be-read.ts'

const limitMs = 90_000

/** Stand in the user id, the event names and the properties of each of the two users. */
const gone = 'zanzibar'
const kept = 'timbuktu'
const users = [gone, kept]

/** So many events at once share workflows. */
const flooded = 240

const path = (id: string): string => `/deliveries/${encodeURIComponent(id)}`

describe.skipIf(findPostgres() === undefined)('erasure', { timeout: 4 * limitMs }, () => {
  let postgres: PostgresServer
  let database: Database
  let node: TestApp
  beforeAll(async () => {
    postgres = await startPostgres()
    const databaseUrl = await postgres.createDatabase()
    node = await startTestApp({ environment: { DATABASE_URL: databaseUrl, POSTRIDER_RETRY_WINDOW: '1h' } })
    database = openPostgres(databaseUrl, pino({ level: 'silent' }))
  })
  afterAll(async () => {
    await node[Symbol.asyncDispose]()
    await database.close()
    await postgres.stop()
  })

  const connected = async (receiver: Receiver): Promise<{ source: Source; destinationId: string }> => {
    const source = await node.createSource()
    return { source, destinationId: (await node.connect([source], [receiver.url])).id }
  }
  const bodyOf = (user: string, messageId: string) => ({
    type: 'track',
    messageId,
    userId: `${user}-user`,
    event: `${user}-opened`,
    properties: { total: `${user}-total-${messageId}` },
  })
  const track = async ({ id, writeKey }: Source, user: string, messageId: string): Promise<string> => {
    expect((await node.post('/track', writeKey, bodyOf(user, messageId))).status).toBe(200)
    return eventWorkflowId(id, messageId)
  }
  const detailOf = async (id: string): Promise<DeliveryDetail> => (await node.api<DeliveryDetail>('GET', path(id))).body
  const untilStatus = (id: string, status: string): Promise<DeliveryDetail> =>
    until(
      `${id} is ${status}`,
      async () => {
        const detail = await detailOf(id)
        return detail.status === status && detail
      },
      limitMs,
    )
  const requestDeletion = async (userIds: string[]): Promise<string> =>
    (await node.api<DeletionRequestDetail>('POST', '/deletion-requests', { userIds })).body.id
  const untilRequest = (
    id: string,
    isSo: (request: DeletionRequestDetail) => boolean,
  ): Promise<DeletionRequestDetail> =>
    until(
      `the request ${id} is so far`,
      async () => {
        const { body } = await node.api<DeletionRequestDetail>('GET', `/deletion-requests/${id}`)
        return isSo(body) && body
      },
      limitMs,
    )

  it('leaves nothing to read of a user, wherever the events were, and all of another one', async () => {
    await using taking = await startReceiver()
    await using refusing = await startReceiver()
    await using failing = await startReceiver()
    const isNotice = ({ body }: { body: Buffer }): boolean => body.includes('"delete"')
    // Receivers repeat what they were sent.
    const echo = (status: number, { body }: { body: Buffer }) => {
      const user = users.find((one) => body.includes(one))
      return { status, body: body.toString(), headers: { 'x-echo': user } }
    }
    taking.answer((request) => echo(200, request))
    refusing.answer((request) => echo(404, request))
    failing.answer((request) => echo(isNotice(request) ? 200 : 503, request))
    const [taken, refused, retried, held] = await Promise.all(
      [taking, refusing, failing, taking].map((receiver) => connected(receiver)),
    )
    if (!taken || !refused || !retried || !held) throw new Error('no sources')
    const pause = (paused: boolean) => node.api('PATCH', `/destinations/${held.destinationId}`, { paused })
    await pause(true)

    const single: Record<string, string[]> = {}
    for (const user of users) {
      const delivered = await track(taken.source, user, `delivered-${user.length}${user[0]}`)
      const failed = await track(refused.source, user, `refused-${user[0]}`)
      const waiting = await track(retried.source, user, `retried-${user[0]}`)
      const paused = await track(held.source, user, `held-${user[0]}`)
      await untilStatus(delivered, 'delivered')
      await untilStatus(failed, 'failed')
      await until(`${waiting} was tried`, async () => (await detailOf(waiting)).timeline.length > 0, limitMs)
      single[user] = [delivered, failed, waiting, paused]
    }
    const alias = { messageId: 'alias', userId: `${kept}-user`, previousId: `${gone}-user` }
    expect((await node.post('/alias', taken.source.writeKey, alias)).status).toBe(200)
    await untilStatus(eventWorkflowId(taken.source.id, 'alias'), 'delivered')
    const batch = Array.from({ length: flooded }, (_, n) => bodyOf(users[n % 2] ?? '', `flood-${n}`))
    for (const { source } of [taken, retried])
      expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
    await until('the flood is delivered', () => taking.requests.length >= flooded + users.length + 1, limitMs)
    const inParcels = async (): Promise<number> => {
      const [row] = await database.query<{ count: number }>('select count(*)::int as count from parcel_events')
      return row?.count ?? 0
    }
    expect(await inParcels()).toBeGreaterThan(0)
    const before = await inTemporal(database, node.namespace)
    for (const user of users) {
      expect(before).toContain(`${user}-total`)
      expect(before).toContain(`"x-echo","${user}"`)
    }

    const request = await requestDeletion([`${gone}-user`])
    const told = await untilRequest(request, ({ status }) => status === 'completed')
    // The paused destination has its notification yet to come.
    expect(told).toMatchObject({ erasedAt: null, keys: 0, notifications: 4 })
    await pause(false)
    const done = await untilRequest(request, ({ erasedAt }) => erasedAt !== null)
    // One for each source, and that of the notifications.
    expect(done.keys).toBe(5)
    expect(done.deliveries).toBeGreaterThanOrEqual(4)

    const temporal = await inTemporal(database, node.namespace)
    expect(temporal).not.toContain(gone)
    // Message ids of hers, of events in parcels.
    expect(temporal).not.toMatch(/\bflood-[02468]\b/)
    const rows = await inDatabase(database)
    expect(rows).not.toContain(gone)
    for (const id of single[kept] ?? []) expect(temporal).toContain(`${kept}-total-${id.split('/').at(-1)}`)
    for (let n = 1; n < flooded; n += 2) expect(`${temporal}\n${rows}`).toContain(`${kept}-total-flood-${n}`)

    for (const id of single[gone] ?? []) {
      expect(await detailOf(id)).toMatchObject({ erased: true, userId: null, event: null, message: null, body: null })
      for (const action of ['retry', 'redeliver'])
        expect(await node.api('POST', `${path(id)}/${action}`)).toMatchObject({ status: 410, body: { code: 'erased' } })
    }
    const attemptsOf = async (user: string) =>
      (await Promise.all((single[user] ?? []).map(detailOf))).flatMap((one) => one.timeline)
    for (const one of await attemptsOf(gone))
      expect(one).toMatchObject({ request: null, response: null, excerpt: null })
    for (const one of await attemptsOf(kept))
      expect(one.response?.headers).toContainEqual({ name: 'x-echo', value: kept })
    const carried = await detailOf(eventWorkflowId(taken.source.id, 'flood-0'))
    expect(carried).toMatchObject({ erased: true, status: 'delivered', userId: null, event: null, message: null })
    for (const id of single[kept] ?? [])
      expect(await detailOf(id)).toMatchObject({ erased: false, userId: `${kept}-user`, event: `${kept}-opened` })
    const { body: list } = await node.api<Page<Delivery>>('GET', `/deliveries?sourceId=${refused.source.id}&type=track`)
    expect(list.items.map(({ erased, userId }) => ({ erased, userId }))).toEqual([
      { erased: false, userId: `${kept}-user` },
      { erased: true, userId: null },
    ])
    for (const { id, erased } of list.items) expect((await detailOf(id)).erased).toBe(erased)

    const again = await track(taken.source, gone, 'again')
    expect(await untilStatus(again, 'delivered')).toMatchObject({ erased: false, userId: `${gone}-user` })
  })

  it('ends a delivery whose key is gone as discarded', async () => {
    await using failing = await startReceiver()
    failing.answer({ status: 503 })
    const { source } = await connected(failing)
    const own = await track(source, 'lost', 'own')
    await until('it is tried', () => failing.requests.length > 0, limitMs)
    const batch = Array.from({ length: flooded }, (_, n) => bodyOf('lost', `flood-${n}`))
    expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
    const carried = async (): Promise<string | undefined> => {
      const [row] = await database.query<{ id: string }>(
        `select event_id as id from parcel_events where source_id = $1 and input is null limit 1`,
        [source.id],
      )
      return row?.id
    }
    const inParcel = await until('a parcel is on its way', carried, limitMs)
    await database.query('delete from user_keys where source_id = $1', [source.id])
    await database.query('update audience_forgets set times = times + 1')
    for (const id of [own, inParcel]) {
      const { erased, destinations } = await untilStatus(id, 'discarded')
      expect({
        erased,
        reasons: destinations.flatMap(({ endpoints }) => endpoints.map(({ reason }) => reason)),
      }).toEqual({
        erased: true,
        reasons: ['the user was deleted'],
      })
    }
  })

  it('lets a user of two sources go from the one that is named, and no other', async () => {
    await using receiver = await startReceiver()
    const [named, other] = [await connected(receiver), await connected(receiver)]
    const ids = [await track(named.source, 'both', 'b-1'), await track(other.source, 'both', 'b-2')]
    for (const id of ids) await untilStatus(id, 'delivered')
    const { body } = await node.api<DeletionRequestDetail>('POST', '/deletion-requests', {
      userIds: ['both-user'],
      sourceIds: [named.source.id],
    })
    await untilRequest(body.id, ({ erasedAt }) => erasedAt !== null)
    const [first, second] = await Promise.all(ids.map(detailOf))
    expect(first).toMatchObject({ erased: true, message: null })
    expect((second?.message as MessageContent['message'] | null)?.userId).toBe('both-user')

    const { temporal } = node.app
    const inputs = ids.map(async (id) => {
      const handle = temporal.client.workflow.getHandle(temporal.names.workflowIds(id)[0] ?? id)
      const { events } = await handle.fetchHistory()
      const [payload = {}] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []
      return decode(await payloadInClear(temporal, payload))
    })
    expect(await Promise.all(inputs)).toMatchObject([
      { message: { type: 'track', erased: true } },
      { messageId: 'b-2', message: { userId: 'both-user' } },
    ])
  })
})
