/** The list of events in parcels on both databases: every filter, in order, page by page, and how many there are. */

import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { withAllUrls, withoutSameUrls } from '../../src/contracts/attempts.ts'
import type { Attempt } from '../../src/contracts/delivery.ts'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import { beginEvent } from '../../src/contracts/parcel-progress.ts'
import type { EndpointProgress, EventProgress } from '../../src/contracts/parcels.ts'
import { databaseIn, type Database } from '../../src/db/database.ts'
import { addToInbox, sharedTurn, turnsInInbox } from '../../src/db/inbox.ts'
import { migrate } from '../../src/db/migrate.ts'
import { countCarried, countRetriedAt, sumOf } from '../../src/db/parcel-count.ts'
import type { ParcelFilter } from '../../src/db/parcel-filter.ts'
import { findCarried, listCarried, type ListedEvent } from '../../src/db/parcel-list.ts'
import { openEventsOf, openParcelsFor } from '../../src/db/parcel-steering.ts'
import { recordedProgress, recordProgress } from '../../src/db/parcel-progress.ts'
import {
  endLostParcel,
  moveIntoParcels,
  removeFromParcel,
  removeOldParcels,
  type ParcelToStart,
} from '../../src/db/parcels.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { startedStatuses, type DeliveryFilter } from '../../src/schemas/delivery.ts'
import type { MessageType } from '../../src/schemas/message.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'

const logger = pino({ level: 'error' })
const begun = Date.parse('2026-01-01T00:00:00Z')
const minute = (n: number): string => new Date(begun + n * 60_000).toISOString()

interface Sent {
  messageId: string
  sourceId?: string
  destinationIds?: string[]
  userId?: string
  type?: MessageType
  /** When it came, in minutes. */
  at?: number
}

const event = ({
  messageId,
  sourceId = 'src',
  destinationIds = ['dst'],
  userId = 'u',
  type = 'track',
  at = 0,
}: Sent) => ({
  receivedAt: new Date(minute(at)),
  input: {
    sourceId,
    messageId,
    message: { version: 1, type, event: 'Done', messageId, userId, timestamp: '', context: {} },
    targets: destinationIds.map((destinationId) => ({
      destinationId,
      endpointIds: [`ep_${destinationId}`],
      successPolicy: 'any' as const,
    })),
    retry: { windowMs: 1, initialMs: 1, maxMs: 1 },
  },
})

/** The event of a place with each of its endpoints like this. */
const after = (parcel: ParcelToStart, place: number, endpoint: Partial<EndpointProgress>): EventProgress => {
  const [progress] = parcel.events.filter((_, index) => index === place).map((one) => beginEvent(one, place))
  if (progress === undefined) throw new Error(`no place ${place}`)
  return {
    ...progress,
    destinations: progress.destinations.map((destination) => ({
      ...destination,
      endpoints: destination.endpoints.map(({ waits: _, ...begun }) => ({ ...begun, attempts: 1, ...endpoint })),
    })),
  }
}

/** What may become of an event. */
const outcomes: Partial<EndpointProgress>[] = [
  { end: 'delivered' },
  { end: 'delivered' },
  { end: 'failed', reason: '404' },
  { waits: 'retry', reason: '503', attempts: 3 },
  { end: 'discarded', reason: 'switched off' },
  { waits: 'hold' },
  { waits: 'turn', attempts: 0 },
]

interface WrittenTuples {
  updated: number
  inPlace: number
}

/** What this session has written, also what it has not reported yet. */
const writtenTuples = `select pg_stat_get_xact_tuples_updated('parcel_events'::regclass)::int as updated,
  pg_stat_get_xact_tuples_hot_updated('parcel_events'::regclass)::int as "inPlace"`

function parcelsSuite(database: () => Database): void {
  const intoParcels = async (events: Sent[], name: string): Promise<ParcelToStart[]> => {
    await addToInbox(database(), events.map(event))
    const turns = (await turnsInInbox(database(), '', 100)).map(({ id }) => id)
    return moveIntoParcels(database(), name, turns, 1_000)
  }

  const inOrder = async (): Promise<ListedEvent[]> => {
    const rows = await database().query<ListedEvent & { seq: string }>(
      `select event_id as id, status, source_id as "sourceId", destination_ids as "destinationIds", type,
         user_id as "userId", message_id as "messageId", received_at as "receivedAt" from parcel_events
       order by coalesce(ended_at, 'infinity') desc, seq desc`,
    )
    return rows
  }

  /** Pages until the end. */
  const listAll = async (filter: ParcelFilter, limit: number): Promise<string[]> => {
    const listed: string[] = []
    for (let last: ListedEvent | undefined; ;) {
      const page = await listCarried(database(), filter, limit, last?.position)
      listed.push(...page.map(({ id }) => id))
      last = page.at(-1)
      if (page.length < limit) return listed
      expect(listed.length).toBeLessThan(10_000)
    }
  }

  const fits = (filter: ParcelFilter) => (one: ListedEvent) => {
    const isOnPaused = one.destinationIds.some((id) => filter.paused.includes(id))
    const status = one.status === 'retrying' && isOnPaused ? 'held' : one.status
    return (
      (filter.status ?? status) === status &&
      (filter.sourceId ?? one.sourceId) === one.sourceId &&
      (filter.destinationId === undefined || one.destinationIds.includes(filter.destinationId)) &&
      (filter.type ?? one.type) === one.type &&
      (filter.userId ?? one.userId) === one.userId &&
      (filter.messageId ?? one.messageId) === one.messageId &&
      (filter.since === undefined || one.receivedAt >= new Date(filter.since)) &&
      (filter.until === undefined || one.receivedAt < new Date(filter.until))
    )
  }

  /** 1,200 events of three sources in 12 parcels and more, each with what became of it, some in the middle of a round. */
  const fill = async (): Promise<void> => {
    const turns = [
      { sourceId: 'src_a', destinationIds: ['dst_1'] },
      { sourceId: 'src_a', destinationIds: ['dst_1', 'dst_2'] },
      { sourceId: 'src_b', destinationIds: ['dst_2'] },
      { sourceId: 'src_c', destinationIds: ['dst_3'] },
    ]
    const parcels: ParcelToStart[] = []
    for (let group = 0; group < 3; group++) {
      const events = Array.from({ length: 400 }, (_, n): Sent => {
        const index = group * 400 + n
        const type = turns[index % 4]?.sourceId === 'src_b' && n % 40 === 2 ? 'page' : 'track'
        return { messageId: `m-${index}`, userId: `u-${index % 10}`, type, at: index, ...turns[index % 4] }
      })
      parcels.push(...(await intoParcels(events, `parcel/${group}`)))
    }
    expect(parcels).toHaveLength(12)
    for (const [index, parcel] of parcels.toReversed().entries()) {
      const progress = parcel.events.map((_, place) => {
        const outcome = outcomes[(place * 3 + index) % outcomes.length] ?? {}
        const { end: _end, ...cancelled } = after(parcel, place, { waits: 'retry' })
        return place === 7 ? { ...cancelled, end: 'cancelled' as const } : after(parcel, place, outcome)
      })
      if (index === 11) continue
      await recordProgress(database(), [{ parcelId: parcel.id, progress: progress.slice(50) }])
      if (index < 10) await recordProgress(database(), [{ parcelId: parcel.id, progress: progress.slice(0, 50) }])
    }
    // A round of retries, half of it written.
    const [parcel] = parcels
    const later = parcel?.events.flatMap((_, place) =>
      place % 4 === 0 ? [after(parcel, place, { end: 'delivered' })] : [],
    )
    await recordProgress(database(), [{ parcelId: parcel?.id ?? '', progress: later ?? [] }])
  }

  const filters: DeliveryFilter[] = [
    {},
    { sourceId: 'src_a' },
    { sourceId: 'none' },
    { destinationId: 'dst_2' },
    { type: 'page' },
    { userId: 'u-3' },
    { userId: 'u-3', status: 'delivered' },
    { messageId: 'm-77' },
    { since: minute(100), until: minute(777) },
    { since: minute(1_190) },
    { status: 'delivered' },
    { status: 'failed', destinationId: 'dst_1' },
    { status: 'retrying' },
    { status: 'held' },
    { status: 'delivering', sourceId: 'src_c' },
    { status: 'discarded', type: 'track' },
    { status: 'cancelled' },
  ]

  it('has each event that matches once, in the order of the delivery log', async () => {
    await fill()
    const all = await inOrder()
    for (const paused of [[], ['dst_2']])
      for (const one of filters) {
        const filter = { ...one, paused }
        const expected = all.filter(fits(filter)).map(({ id }) => id)
        expect(await listAll(filter, 37), JSON.stringify(filter)).toEqual(expected)
        expect(await listAll(filter, 1_000), JSON.stringify(filter)).toEqual(expected)
      }
    expect(all.filter(fits({ type: 'page', paused: [] }))).toHaveLength(30)
  })

  it('counts by each filter what the parcels count, and a user or a message one by one', async () => {
    await fill()
    const all = await inOrder()
    for (const paused of [[], ['dst_2']])
      for (const one of filters) {
        const filter = { ...one, paused }
        expect(sumOf(await countCarried(database(), filter)), JSON.stringify(filter)).toBe(
          all.filter(fits(filter)).length,
        )
      }
    const { retrying, held } = await countCarried(database(), { paused: ['dst_3'] })
    expect(retrying).toBe(all.filter(fits({ status: 'retrying', paused: ['dst_3'] })).length)
    expect(held).toBe(all.filter(fits({ status: 'held', paused: ['dst_3'] })).length)
  })

  it('lists and counts what is the same for all of many events by their parcels', async () => {
    await database().query(
      `insert into parcels (id, source_id, destination_ids, types, first_seq, last_seq, first_at, last_at, first_end,
         last_end, delivered)
       select 'parcel/' || md5(p::text), 'src', '{dst}', '{track,page}', p * 100, p * 100 + 99, now(), now(),
         now() - make_interval(secs => p), now() - make_interval(secs => p), 100
       from generate_series(0, 199) as p`,
    )
    await database().query(
      `insert into parcel_events (parcel_id, place, event_id, seq, source_id, destination_ids, message_id, user_id, type,
         received_at, status, ended_at)
       select p.id, n, 'event/' || p.id || n, p.first_seq + n, 'src', '{dst}', 'm', 'same',
         case when n % 4 = 0 then 'page' else 'track' end, now(), 'delivered', p.last_end
       from parcels as p cross join generate_series(0, 99) as n`,
    )
    for (const filter of [{ userId: 'same' }, { messageId: 'm' }]) {
      const page = await listCarried(database(), { ...filter, paused: [] }, 150)
      expect(page.map(({ position }) => Number(position.seq))).toEqual([
        ...Array.from({ length: 100 }, (_, n) => 99 - n),
        ...Array.from({ length: 50 }, (_, n) => 199 - n),
      ])
      expect(sumOf(await countCarried(database(), { ...filter, paused: [] }))).toBe(20_000)
    }
    expect(sumOf(await countCarried(database(), { type: 'page', paused: [] }))).toBe(5_000)
  })

  it('lists and counts events by where they stand at a destination', async () => {
    const both = { sourceId: 'src_two', destinationIds: ['dst_1', 'dst_2'] }
    const parcels = await intoParcels(
      Array.from({ length: 140 }, (_, n): Sent => ({ messageId: `two-${n}`, at: n, ...both })),
      'two',
    )
    const standing = new Map<string, Record<string, string>>()
    for (const parcel of parcels) {
      const progress = parcel.events.map((_, place) => {
        const [first, second] = [
          after(parcel, place, { end: 'delivered' }),
          after(parcel, place, outcomes[place % 7] ?? {}),
        ]
        const [one, other] = [first.destinations[0], second.destinations[1]]
        if (one === undefined || other === undefined) throw new Error('there are two destinations')
        return { ...first, destinations: [one, other], ...(place % 14 === 3 && { end: 'cancelled' as const }) }
      })
      await recordProgress(database(), [{ parcelId: parcel.id, progress }])
      for (const [place, { eventId }] of parcel.events.entries()) {
        const { end, waits = '' } = outcomes[place % 7] ?? {}
        const open =
          place % 14 === 3 ? 'cancelled' : { retry: 'retrying', hold: 'held', turn: 'delivering', '': '' }[waits]
        standing.set(eventId, { dst_1: 'delivered', dst_2: end ?? open })
      }
    }
    const source = { sourceId: 'src_two' }
    for (const paused of [[], ['dst_2']])
      for (const destinationId of ['dst_1', 'dst_2']) {
        const shown = (result: string | undefined) =>
          result === 'retrying' && paused.includes(destinationId) ? 'held' : result
        const counts = await countCarried(database(), { ...source, destinationId, paused })
        for (const status of startedStatuses.filter((one) => one !== 'partly_delivered')) {
          const fitting = [...standing].filter(([, one]) => shown(one[destinationId]) === status).map(([id]) => id)
          const filter = { ...source, destinationId, status, paused }
          expect((await listAll(filter, 37)).toSorted(), JSON.stringify(filter)).toEqual(fitting.toSorted())
          expect(sumOf(await countCarried(database(), filter)), JSON.stringify(filter)).toBe(fitting.length)
          expect(counts[status], JSON.stringify(filter)).toBe(fitting.length)
        }
      }
    // As a whole, what is retried is held by a destination that is paused, but not by one that has taken it.
    const retried = [...standing].filter(([, one]) => one['dst_2'] === 'retrying').map(([id]) => id)
    for (const [paused, status] of [
      ['dst_1', 'retrying'],
      ['dst_2', 'held'],
    ] as const) {
      const others = [...standing].filter(([, one]) => one['dst_2'] === status).map(([id]) => id)
      const expected = [...new Set([...retried, ...others])].toSorted()
      const filter = { ...source, status, paused: [paused] }
      expect((await listAll(filter, 37)).toSorted(), JSON.stringify(filter)).toEqual(expected)
      expect(await countCarried(database(), filter), JSON.stringify(filter)).toMatchObject({
        [status]: expected.length,
      })
      expect(await countCarried(database(), { ...source, paused: [paused] })).toMatchObject({
        [status]: expected.length,
      })
    }
    // As a whole, what was delivered at one and failed or was discarded at the other is partly delivered.
    const whole = await countCarried(database(), { ...source, destinationId: 'dst_1', paused: [], asWhole: true })
    expect(whole).toMatchObject({ failed: 0, discarded: 0, partly_delivered: 40, cancelled: 10 })
  })

  it('has a row for the events of each turn in a parcel that several share, and figures of its own', async () => {
    const sources = Array.from({ length: 12 }, (_, n) => `src_${String(n).padStart(2, '0')}`)
    const few = sources.flatMap((sourceId, n): Sent[] => [
      { messageId: `${sourceId}-1`, sourceId, destinationIds: [`dst_${n % 3}`], userId: 'shared' },
      { messageId: `${sourceId}-2`, sourceId, destinationIds: [`dst_${n % 3}`], type: 'page' },
    ])
    const many = Array.from({ length: 30 }, (_, n): Sent => ({ messageId: `many-${n}`, sourceId: 'src_many' }))
    const parcels = await intoParcels([...few, ...many], 'parcel/shared')
    expect(parcels.map(({ events }) => events.length).sort((a, b) => a - b)).toEqual([24, 30])
    const [shared] = parcels.filter(({ events }) => events.length === 24)
    if (shared === undefined) throw new Error('none is shared')
    expect(shared.turn).toBe(sharedTurn)
    // In order of arrival, whatever their turns are.
    expect(shared.events.map(({ messageId }) => messageId)).toEqual(few.map(({ messageId }) => messageId))

    const counted = (filter: Partial<ParcelFilter>) => countCarried(database(), { paused: [], ...filter })
    expect(await counted({ sourceId: 'src_03' })).toMatchObject({ delivering: 2 })
    await recordProgress(database(), [
      {
        parcelId: shared.id,
        progress: shared.events.map((_, place) => {
          const hasFailed = place < 4
          return after(shared, place, hasFailed ? { waits: 'retry', reason: '503' } : { end: 'delivered' })
        }),
        isFirst: true,
      },
    ])
    expect(await counted({ sourceId: 'src_00' })).toMatchObject({ retrying: 2, delivered: 0 })
    expect(await counted({ sourceId: 'src_05' })).toMatchObject({ retrying: 0, delivered: 2 })
    expect(await counted({ destinationId: 'dst_0' })).toMatchObject({ retrying: 2, delivered: 6 })
    expect(await counted({ destinationId: 'dst_0', paused: ['dst_0'] })).toMatchObject({ held: 2, delivered: 6 })
    expect(await counted({ destinationId: 'dst_2', paused: ['dst_0'] })).toMatchObject({ held: 0, delivered: 8 })
    expect(await counted({ type: 'page' })).toMatchObject({ retrying: 2, delivered: 10 })
    expect(await countRetriedAt(database(), ['dst_0'], [])).toBe(2)
    expect(await countRetriedAt(database(), ['dst_2'], [])).toBe(0)

    const all = await inOrder()
    const filters: DeliveryFilter[] = [{}, { sourceId: 'src_04' }, { destinationId: 'dst_1' }, { type: 'page' }]
    for (const filter of filters)
      expect(await listAll({ ...filter, paused: [] }, 5), JSON.stringify(filter)).toEqual(
        all.filter(fits({ ...filter, paused: [] })).map(({ id }) => id),
      )
    expect(await openParcelsFor(database(), 'dst_0', undefined, '', 10)).toEqual([shared.id])
    expect(await openParcelsFor(database(), 'dst_2', undefined, '', 10)).toEqual([])

    await removeFromParcel(database(), shared.id, [eventWorkflowId('src_00', 'src_00-1')])
    expect(await counted({ sourceId: 'src_00' })).toMatchObject({ retrying: 1 })
    expect(await counted({ sourceId: 'src_05' })).toMatchObject({ delivered: 2 })
    await endLostParcel(database(), shared.id)
    expect(await counted({ sourceId: 'src_00' })).toMatchObject({ retrying: 0, cancelled: 1 })
    await removeOldParcels(database(), new Date(Date.now() + 60_000))
    expect((await inOrder()).map(({ sourceId }) => sourceId)).toEqual(many.map(() => 'src_many'))
  })

  it('takes events for many destinations', async () => {
    const destinationIds = Array.from({ length: 500 }, () => `dst_${randomUUID()}`)
    const [parcel] = await intoParcels([{ messageId: 'many', destinationIds }], 'parcel/many')
    expect(parcel?.events).toHaveLength(1)
  })

  it('takes events of users with long ids, which no index can hold', async () => {
    const userId = Array.from({ length: 600 }, () => randomUUID()).join('')
    await intoParcels([{ messageId: 'long', userId }, { messageId: 'other' }], 'parcel/long')
    const page = await listCarried(database(), { userId, paused: [] }, 10)
    expect(page.map(({ messageId }) => messageId)).toEqual(['long'])
    expect(sumOf(await countCarried(database(), { userId, paused: [] }))).toBe(1)
    const order = { userIds: [userId], scope: null, before: new Date(), forgottenAt: new Date() }
    expect(await openEventsOf(database(), order, 10)).toEqual([eventWorkflowId('src', 'long')])
  })

  describe('two destinations of a parcel, whose news come side by side', () => {
    const attemptAt = (destinationId: string, n: number): Attempt => ({
      endpointId: `ep_${destinationId}`,
      at: minute(n),
      durationMs: 1,
      ...(n === 1 && { url: `http://${destinationId}.test/` }),
    })
    /** An account of the event: what its endpoints at the two destinations are like. */
    const account = (parcel: ParcelToStart, ...endpoints: Partial<EndpointProgress>[]): EventProgress => {
      const begun = after(parcel, 0, { attempts: 0, waits: 'turn' })
      return {
        ...begun,
        destinations: begun.destinations.map((destination, index) => {
          const endpoint = { attempts: 0, ...endpoints[index] }
          const all = Array.from({ length: endpoint.attempts }, (_, n) => attemptAt(destination.destinationId, n + 1))
          const made = withoutSameUrls(withAllUrls(all).slice(-10))
          return { ...destination, endpoints: destination.endpoints.map((one) => ({ ...one, made, ...endpoint })) }
        }),
      }
    }
    const retried = (attempts: number, dueAt = attempts): Partial<EndpointProgress> => ({
      attempts,
      waits: 'retry',
      reason: `503 after ${attempts}`,
      dueAt,
    })
    const delivered = (attempts: number): Partial<EndpointProgress> => ({ attempts, end: 'delivered' })
    const make = async (): Promise<ParcelToStart> => {
      const [parcel] = await intoParcels([{ messageId: 'two', destinationIds: ['dst_1', 'dst_2'] }], 'parcel/two')
      if (parcel === undefined) throw new Error('no parcel')
      return parcel
    }
    const standing = async () => {
      const found = await findCarried(database(), eventWorkflowId('src', 'two'))
      const endpoints = found?.progress?.destinations.flatMap((destination) => destination.endpoints) ?? []
      return {
        status: found?.status,
        attempts: found?.attempts,
        endpoints: endpoints.map(({ attempts, end, waits, dueAt }) => ({ attempts, is: end ?? waits, dueAt })),
        made: endpoints.map(({ made }) => withAllUrls(made)),
      }
    }
    const record = ({ id: parcelId }: ParcelToStart, progress: EventProgress, destinationId?: string) =>
      recordProgress(database(), [{ parcelId, progress: [progress], ...(destinationId && { destinationId }) }])

    it('keep what the other one told, whichever comes last', async () => {
      const parcel = await make()
      await record(parcel, account(parcel, retried(1), retried(1)))
      // Each knows the other as it was when its own round began.
      await record(parcel, account(parcel, retried(4), retried(1)), 'dst_1')
      await record(parcel, account(parcel, retried(1), delivered(2)), 'dst_2')
      expect(await standing()).toMatchObject({
        status: 'retrying',
        attempts: 6,
        endpoints: [
          { attempts: 4, is: 'retry' },
          { attempts: 2, is: 'delivered' },
        ],
      })
      // An end is for good, and the workflow, too, learns of a round only when its activity ends.
      await record(parcel, account(parcel, delivered(5), retried(1)), 'dst_1')
      await record(parcel, account(parcel, retried(3), retried(1)))
      expect(await standing()).toMatchObject({ status: 'delivered', attempts: 7 })
    })

    it('keep it in one group, too', async () => {
      const parcel = await make()
      await record(parcel, account(parcel, retried(1), retried(1)))
      const news = [
        { destinationId: 'dst_1', progress: [account(parcel, delivered(2), retried(1))] },
        { destinationId: 'dst_2', progress: [account(parcel, retried(1), delivered(3))] },
      ]
      await recordProgress(
        database(),
        news.map((one) => ({ parcelId: parcel.id, ...one })),
      )
      expect(await standing()).toMatchObject({ status: 'delivered', attempts: 5 })
    })

    it('tell each of its own when no attempt was made', async () => {
      const parcel = await make()
      await record(parcel, account(parcel, retried(1, 10), retried(1, 10)))
      await record(parcel, account(parcel, retried(1, 90), retried(1, 10)), 'dst_1')
      await record(parcel, account(parcel, retried(1, 10), { ...retried(1), waits: 'hold' }), 'dst_2')
      await record(parcel, account(parcel, retried(1, 10), retried(1, 10)))
      expect((await standing()).endpoints).toMatchObject([{ dueAt: 90 }, { is: 'hold' }])
      // Somebody asked for an attempt before the pause was over, and the endpoint was full.
      await record(parcel, account(parcel, retried(1, 20), retried(1, 10)), 'dst_1')
      expect((await standing()).endpoints).toMatchObject([{ dueAt: 20 }, { is: 'hold' }])
    })

    it('have every attempt in the list, each once, although an account has the newest ten', async () => {
      const parcel = await make()
      for (let n = 1; n <= 28; n++) {
        await record(parcel, account(parcel, retried(n), retried(1)), 'dst_1')
        if (n % 3 === 0) await record(parcel, account(parcel, retried(1), retried(n / 3)), 'dst_2')
      }
      const allOf = (destinationId: string, count: number) =>
        Array.from({ length: count }, (_, n) => ({
          ...attemptAt(destinationId, n + 1),
          url: `http://${destinationId}.test/`,
        }))
      expect(await standing()).toMatchObject({ attempts: 37, made: [allOf('dst_1', 28), allOf('dst_2', 9)] })
      // What goes back to Temporal is as long as before.
      const known = (await recordedProgress(database(), parcel.id)).get(0)
      const progress = known && 'progress' in known ? known.progress : undefined
      const endpoints = progress?.destinations.flatMap((destination) => destination.endpoints) ?? []
      expect(endpoints.map(({ attempts }) => attempts)).toEqual([28, 9])
      expect(endpoints.map(({ made }) => withAllUrls(made))).toEqual([allOf('dst_1', 28).slice(-10), allOf('dst_2', 9)])
    })

    it('keep what was cancelled as it is, and count the attempt that was under way', async () => {
      const parcel = await make()
      await record(parcel, account(parcel, retried(1), retried(1)))
      await record(parcel, { ...account(parcel, retried(1), retried(1)), end: 'cancelled' })
      await record(parcel, account(parcel, delivered(2), retried(1)), 'dst_1')
      expect(await standing()).toMatchObject({ status: 'cancelled', attempts: 3 })
    })
  })

  it('shows what the later round found, also when one that Temporal gave up writes after it', async () => {
    const [parcel] = await intoParcels([{ messageId: 'held' }], 'parcel/held')
    if (parcel === undefined) throw new Error('no parcel')
    const record = (endpoint: Partial<EndpointProgress>) =>
      recordProgress(database(), [
        { parcelId: parcel.id, progress: [after(parcel, 0, endpoint)], destinationId: 'dst' },
      ])
    const made = [1, 2].map((n) => ({ endpointId: 'ep_dst', at: minute(n), durationMs: 1 }))
    const standing = () => findCarried(database(), eventWorkflowId('src', 'held'))
    const givenUp = { attempts: 2, made, waits: 'retry', reason: '503', dueAt: 9_000, foundAt: 5_000 } as const
    for (const foundAt of [5_000, 5_001]) {
      // The later round does not know of the attempt that was under way.
      await record({ made: made.slice(0, 1), waits: 'hold', foundAt })
      await record(givenUp)
      expect(await standing()).toMatchObject({ status: 'held', attempts: 2 })
    }
    await record({ ...givenUp, foundAt: 5_002 })
    expect(await standing()).toMatchObject({ status: 'retrying', attempts: 2 })
  })

  it('finds one event, and writes no index again when it ends', async () => {
    const [parcel] = await intoParcels(
      Array.from({ length: 100 }, (_, n) => ({ messageId: `m-${n}` })),
      'parcel/one',
    )
    if (parcel === undefined) throw new Error('no parcel')
    const id = eventWorkflowId('src', 'm-5')
    expect(await findCarried(database(), id)).toMatchObject({ id, parcelId: parcel.id, input: { messageId: 'm-5' } })
    const ended = parcel.events.map((_, place) =>
      after(parcel, place, place === 5 ? { end: 'failed' } : { end: 'delivered' }),
    )
    const written = await database().transaction(async (tx) => {
      const [before] = await tx.query<WrittenTuples>(writtenTuples)
      await recordProgress(databaseIn(tx), [{ parcelId: parcel.id, progress: ended }])
      const [after] = await tx.query<WrittenTuples>(writtenTuples)
      if (before === undefined || after === undefined) throw new Error('no figures')
      return { updated: after.updated - before.updated, inPlace: after.inPlace - before.inPlace }
    })
    expect(written).toEqual({ updated: 100, inPlace: 100 })
    expect(await findCarried(database(), id)).toMatchObject({ status: 'failed', input: null, progress: { place: 5 } })
    expect(await findCarried(database(), `${id}-`)).toBeUndefined()
  })
}

describe('events of parcels on PGlite', () => {
  let folder: string
  let database: Database
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'postrider-test-db-'))
    await cp(inject('databaseTemplate'), folder, { recursive: true })
    database = await openPglite(folder, logger)
  })
  afterEach(() => database.query('delete from parcels'))
  afterAll(async () => {
    await database.close()
    await rm(folder, { recursive: true })
  })
  parcelsSuite(() => database)
})

describe.skipIf(findPostgres() === undefined)('events of parcels on PostgreSQL', () => {
  let postgres: PostgresServer
  let database: Database
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  beforeEach(async () => {
    database = openPostgres(await postgres.createDatabase(), logger)
    await migrate(database)
  })
  afterEach(() => database.close())
  afterAll(() => postgres.stop())
  parcelsSuite(() => database)
})
