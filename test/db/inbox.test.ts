/** The inbox on both databases: who comes next, and in which order. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import type { Database } from '../../src/db/database.ts'
import {
  addToInbox,
  inboxDepth,
  leaseFromInbox,
  listQueued,
  refuseInInbox,
  releaseInInbox,
  removeFromInbox,
  type Lane,
  type LeasedEvent,
} from '../../src/db/inbox.ts'
import { countQueued } from '../../src/db/inbox-count.ts'
import { cancelInInbox, claimInInbox, removeSettled, settleCancelled } from '../../src/db/inbox-steering.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { createInboxTurns } from '../../src/intake/inbox-turns.ts'
import type { DeliveryFilter } from '../../src/schemas/delivery.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'

const logger = pino({ level: 'error' })

/** Longer than a test takes, in milliseconds. */
const leaseMs = 600_000

const event = (lane: Lane, messageId: string, sourceId = 'src') => ({
  lane,
  receivedAt: new Date(),
  input: {
    sourceId,
    messageId,
    message: { version: 1, type: 'track' as const, messageId, timestamp: '', context: {} },
    targets: [],
    retry: { windowMs: 1, initialMs: 1, maxMs: 1 },
  },
})

const idsOf = (events: { input: { messageId: string } }[]): string[] => events.map(({ input }) => input.messageId)
const seqsOf = (events: LeasedEvent[]): string[] => events.map(({ seq }) => seq)

function inboxSuite(database: () => Database): void {
  const add = (sourceId: string, count: number, lane: Lane = 'prompt') =>
    addToInbox(
      database(),
      Array.from({ length: count }, (_, n) => event(lane, `${sourceId}-${n}`, sourceId)),
    )
  const turns = (batchSize: number, lane: Lane = 'prompt') => createInboxTurns(database(), lane, batchSize, leaseMs)

  it('leases, counts and lists events of two lanes in one inbox', async () => {
    const lease = (lane: Lane, limit: number) => leaseFromInbox(database(), lane, ['src'], limit, leaseMs)
    expect(await inboxDepth(database())).toBe(0)
    expect(
      await addToInbox(database(), [event('deferred', 'd1'), event('prompt', 'p1'), event('deferred', 'd2')]),
    ).toBe(3)
    // The same event is there once, whatever its lane.
    expect(await addToInbox(database(), [event('prompt', 'd1'), event('prompt', 'p2')])).toBe(1)
    expect(await inboxDepth(database())).toBeGreaterThanOrEqual(4)
    expect(idsOf(await listQueued(database(), {}, 10)).sort()).toEqual(['d1', 'd2', 'p1', 'p2'])

    const prompt = await lease('prompt', 10)
    expect(idsOf(prompt)).toEqual(['p1', 'p2'])
    expect(await lease('prompt', 10)).toEqual([])
    const deferred = await lease('deferred', 1)
    expect(idsOf(deferred)).toEqual(['d1'])
    expect(idsOf(await lease('deferred', 10))).toEqual(['d2'])

    await removeFromInbox(database(), seqsOf([...prompt, ...deferred]))
    expect(idsOf(await listQueued(database(), {}, 10))).toEqual(['d2'])
    expect(await inboxDepth(database())).toBe(1)
  })

  it('gives each source the same share of a batch, in its order of arrival, however much one of them has', async () => {
    await add('flood', 500)
    await add('small', 3)
    await add('medium', 20)
    const next = turns(24)
    const first = await next()
    expect(idsOf(first)).toEqual([
      ...['small-0', 'small-1', 'small-2'],
      // Those who have as many wait for each other by arrival.
      ...Array.from({ length: 8 }, (_, n) => `flood-${n}`),
      ...Array.from({ length: 8 }, (_, n) => `medium-${n}`),
    ])
    await removeFromInbox(database(), seqsOf(first))
    // A batch that a node gives back comes again, before what arrived later.
    const second = await next()
    expect(idsOf(second)).toHaveLength(24)
    await releaseInInbox(database(), seqsOf(second))
    expect(idsOf(await next())).toEqual(idsOf(second))
  })

  it('reaches every source where more wait than a batch has places, and what another node leaves', async () => {
    const names = Array.from({ length: 25 }, (_, n) => `source-${String(n).padStart(2, '0')}`)
    for (const name of names) await add(name, 2)
    const [mine, others] = [turns(10), turns(10)]
    const seen = [await mine(), await mine(), await mine()].flatMap(idsOf)
    expect(seen).toEqual([
      ...names.slice(0, 20).map((name) => `${name}-0`),
      ...names.slice(20).flatMap((name) => [`${name}-0`, `${name}-1`]),
    ])
    // The other node begins at the first source too, which has one left, and goes on to the end.
    const rest = [await others(), await others()].flatMap(idsOf)
    expect(rest).toEqual(names.slice(0, 20).map((name) => `${name}-1`))
    expect(await others()).toEqual([])
    expect(await mine()).toEqual([])
  })

  it('keeps what was refused or cancelled out of the way, for a time', async () => {
    const id = (n: number): string => eventWorkflowId('src', `src-${n}`)
    await add('src', 4)
    const [refused, taken] = await leaseFromInbox(database(), 'prompt', ['src'], 2, leaseMs)
    await refuseInInbox(database(), refused?.seq ?? '', 'too large')
    // A node is about to start it.
    expect(await cancelInInbox(database(), id(1), {})).toBe(false)
    expect(await claimInInbox(database(), id(1), leaseMs)).toBeUndefined()
    expect(await cancelInInbox(database(), id(2), { by: 'ann', why: 'mistake' })).toBe(true)
    expect(await cancelInInbox(database(), id(2), {})).toBe(false)
    expect(await claimInInbox(database(), id(2), leaseMs)).toBeUndefined()
    // Whoever leases it sees that it is not to be started, and cannot remove it as started.
    const [cancelled, waiting] = await turns(10)()
    expect([cancelled?.cancelled, waiting?.cancelled]).toEqual([{ by: 'ann', why: 'mistake' }, undefined])
    await removeFromInbox(database(), seqsOf([cancelled, waiting, taken].filter((one) => one !== undefined)))
    await settleCancelled(database(), cancelled?.seq ?? '', false)
    expect(await turns(10)()).toEqual([])
    expect(idsOf(await listQueued(database(), { status: 'cancelled' }, 10))).toEqual(['src-2'])
    expect(idsOf(await listQueued(database(), { status: 'failed' }, 10))).toEqual(['src-0'])
    expect(idsOf(await listQueued(database(), { status: 'queued' }, 10))).toEqual([])
    await removeSettled(database(), new Date(Date.now() - 60_000))
    expect(await listQueued(database(), {}, 10)).toHaveLength(2)
    await removeSettled(database(), new Date(Date.now() + 60_000))
    expect(await listQueued(database(), {}, 10)).toEqual([])
  })

  it('does not look at sources of the other lane', async () => {
    await add('hanging', 5, 'deferred')
    expect(await turns(10)()).toEqual([])
    expect(idsOf(await turns(10, 'deferred')())).toHaveLength(5)
  })
}

describe('the inbox on PGlite', () => {
  let folder: string
  let database: Database
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'postrider-test-db-'))
    await cp(inject('databaseTemplate'), folder, { recursive: true })
    database = await openPglite(folder, logger)
  })
  afterEach(() => database.query('delete from inbox'))
  afterAll(async () => {
    await database.close()
    await rm(folder, { recursive: true })
  })
  inboxSuite(() => database)
})

describe.skipIf(findPostgres() === undefined)('the inbox on PostgreSQL', () => {
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
  inboxSuite(() => database)
})

it('counts a long inbox by some of its pages, and what is few or one among many exactly', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-db-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  const database = await openPglite(folder, pino({ level: 'error' }))
  const add = (first: number, last: number) =>
    database.query(
      `insert into inbox (workflow_id, source_id, message_id, type, destination_ids, input, received_at)
       select 'event/' || n, case when n = 0 then 'once' when n % 2 = 0 then 'even' else 'odd' end, n, 'track', '{}',
         json_build_object('text', repeat('x', 900)), now()
       from generate_series($1::int, $2::int) as n`,
      [first, last],
    )
  const count = (filter: DeliveryFilter) => countQueued(database, filter)
  const near = (exact: number) => [exact * 0.85, exact * 1.15] as const
  const expectNear = (counted: number, [least, most]: readonly [number, number]) => {
    expect(counted).toBeGreaterThan(least)
    expect(counted).toBeLessThan(most)
  }
  try {
    await add(0, 8_999)
    expect(await count({ status: 'queued', sourceId: 'even' })).toBe(4_499)
    await add(9_000, 39_999)
    // Nearly five times as many pages as are looked at.
    expectNear(await count({ status: 'queued' }), near(40_000))
    expectNear(await count({}), near(40_000))
    expectNear(await count({ sourceId: 'odd' }), near(20_000))
    expect(await count({ sourceId: 'once' })).toBe(1)
    expect(await count({ status: 'queued', messageId: '29999' })).toBe(1)
    expect(await count({ status: 'failed' })).toBe(0)
    await database.query(`update inbox set refusal = 'no', settled_at = now() where message_id::int < 5`)
    expect(await count({ status: 'failed' })).toBe(5)
    expect(await count({ status: 'failed', sourceId: 'odd' })).toBe(2)
    await database.query(`update inbox set cancelled_at = now(), settled_at = now() where message_id::int >= 10000`)
    expect(await count({ status: 'queued' })).toBe(9_995)
    expectNear(await count({ status: 'cancelled' }), near(30_000))
    expect(await count({ status: 'delivered' })).toBe(0)
  } finally {
    await database.close()
    await rm(folder, { recursive: true })
  }
})
