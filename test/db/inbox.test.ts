/** The inbox and its parcels on both databases: who comes next, in which order, and together with whom. */

import { createHash } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import type { AttemptOutcome } from '../../src/contracts/delivery.ts'
import { afterAttempt, beginEvent, withDestination } from '../../src/contracts/parcel-progress.ts'
import type { EventProgress } from '../../src/contracts/parcels.ts'
import type { Database, Queryable } from '../../src/db/database.ts'
import {
  addToInbox,
  giveUpOverdue,
  inboxDepth,
  leaseFromInbox,
  refuseInInbox,
  releaseInInbox,
  releaseUntried,
  removeFromInbox,
  turnsInInbox,
  type LeasedEvent,
} from '../../src/db/inbox.ts'
import { createDeletionRequest } from '../../src/db/deletion-requests.ts'
import { countQueued } from '../../src/db/inbox-count.ts'
import { listEndedInInbox, listQueued } from '../../src/db/inbox-list.ts'
import {
  cancelInInbox,
  cancelOldestInInbox,
  claimInInbox,
  leaseCancelled,
  oldestEndedInInbox,
  removeSettled,
  settleCancelled,
} from '../../src/db/inbox-steering.ts'
import { migrate } from '../../src/db/migrate.ts'
import { recordedProgress, recordProgress } from '../../src/db/parcel-progress.ts'
import {
  claimLostParcels,
  endLostParcel,
  findInParcels,
  hasParcels,
  moveIntoParcels,
  removeFromParcel,
  removeOldParcels,
  writeIntoParcels,
  type ParcelToStart,
} from '../../src/db/parcels.ts'
import { leaveLines, leaveLinesOfRepeats, removeLostPlaces, wakeExpired } from '../../src/db/user-lines.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { newDeletionRequestId } from '../../src/ids.ts'
import { createInboxTurns } from '../../src/intake/inbox-turns.ts'
import type { DeliveryFilter } from '../../src/schemas/delivery.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { until } from '../support/wait.ts'

const logger = pino({ level: 'error' })

/** Longer than a test takes, in milliseconds. */
const leaseMs = 600_000

interface NewEvent {
  messageId: string
  sourceId?: string
  destinationIds?: string[]
  /** Characters of its body beside what every event has. */
  size?: number
  /** The user in whose line it stands at each destination. */
  user?: string
  /** How long it waits there at most, in milliseconds. */
  orderWaitMs?: number
  /** When it was accepted. */
  receivedAt?: Date
}

const event = ({ messageId, sourceId = 'src', destinationIds = ['dst'], size = 0, ...order }: NewEvent) => ({
  receivedAt: order.receivedAt ?? new Date(),
  input: {
    sourceId,
    messageId,
    message: {
      version: 1,
      type: 'track' as const,
      messageId,
      timestamp: '',
      context: {},
      event: 'x'.repeat(size),
      ...(order.user && { userId: order.user }),
    },
    targets: destinationIds.map((destinationId) => ({
      destinationId,
      endpointIds: [`${destinationId}-ep`],
      successPolicy: 'any' as const,
      ...(order.user && { orderWaitMs: order.orderWaitMs ?? leaseMs, ticket: `${messageId}/${destinationId}` }),
    })),
    retry: { windowMs: 1, initialMs: 1, maxMs: 1 },
  },
})

const turnOf = (sourceId: string, ...destinationIds: string[]): string =>
  `${sourceId} ${createHash('md5').update(destinationIds.join(',')).digest('hex')}`

const idOf = (messageId: string, sourceId = 'src'): string => eventWorkflowId(sourceId, messageId)
const idsOf = (events: { input: { messageId: string } }[]): string[] => events.map(({ input }) => input.messageId)
const seqsOf = (events: LeasedEvent[]): string[] => events.map(({ seq }) => seq)
const messagesOf = ({ events }: ParcelToStart): string[] => events.map(({ messageId }) => messageId)
const numbered = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}-${n}`)

function inboxSuite(database: () => Database): void {
  const add = (sourceId: string, count: number, more: Partial<NewEvent> = {}) =>
    addToInbox(
      database(),
      numbered(sourceId, count).map((messageId) => event({ messageId, sourceId, ...more })),
    )
  const lease = (turns: string[], perTurn = 10) => leaseFromInbox(database(), turns, perTurn, leaseMs)
  const turnsOf = (...sourceIds: string[]): string[] => sourceIds.map((sourceId) => turnOf(sourceId, 'dst'))
  const allOpen = () => createInboxTurns(database(), () => 'open').next
  const turnsIn = () => turnsInInbox(database(), '', 100)

  it('knows newcomers: nothing of them waited at the last look, was written since, or came a moment ago', async () => {
    const turns = createInboxTurns(database(), () => 'open')
    const [src = '', other = ''] = turnsOf('src', 'other')
    const areNewcomers = () => [src, other].map((turn) => turns.isNewcomer(turn))
    expect(areNewcomers()).toEqual([false, false])
    await add('src', 1)
    await turns.next()
    expect(areNewcomers()).toEqual([false, true])
    turns.noteWriting([other])()
    expect(areNewcomers()).toEqual([false, false])
    await database().query('delete from inbox')
    await turns.next()
    expect(areNewcomers()).toEqual([true, true])
    turns.noteCome(other)
    expect(areNewcomers()).toEqual([true, false])
    await until('it is one again', () => turns.isNewcomer(other))
  })

  it('knows what may wait where it takes several looks to see all', async () => {
    const turns = createInboxTurns(database(), () => 'open')
    await addToInbox(
      database(),
      numbered('src', 60).map((id) => event({ messageId: id, sourceId: id })),
    )
    const ids = await turnsInInbox(database(), '', 100)
    const waiting = (): number => ids.filter(({ id }) => turns.mayWait(id)).length
    const other = turnOf('other', 'dst')
    await turns.next()
    // Nobody knows of the rest.
    expect([turns.mayWait(other), turns.isNewcomer(other)]).toEqual([false, false])
    await turns.next()
    expect([waiting(), turns.mayWait(other), turns.isNewcomer(other)]).toEqual([60, false, true])
    await database().query('delete from inbox')
    await turns.next()
    expect(waiting()).toBe(0)
    turns.noteWriting([other])()
    expect(turns.mayWait(other)).toBe(true)
  })

  it('knows at once that a turn waits no more, when all of it was taken and nothing written meanwhile', async () => {
    const turns = createInboxTurns(database(), () => 'open')
    const [src = '', other = ''] = turnsOf('src', 'other')
    const waiting = () => [src, other].map((turn) => turns.mayWait(turn))
    await add('src', 1)
    await turns.next()
    turns.noteWriting([other])()
    const noteEmptied = turns.beginTaking()
    expect(waiting()).toEqual([true, true])
    noteEmptied(src)
    expect(waiting()).toEqual([false, true])
    noteEmptied(other)
    expect(waiting()).toEqual([false, false])

    const endBefore = turns.noteWriting([src])
    const noteTooEarly = turns.beginTaking()
    endBefore()
    const endMeanwhile = turns.noteWriting([other])
    endMeanwhile()
    noteTooEarly(src)
    noteTooEarly(other)
    expect(waiting()).toEqual([true, true])
  })

  it('leases the oldest of each turn in order of arrival, and has each event once', async () => {
    expect(await inboxDepth(database())).toBe(0)
    await add('b', 3)
    await add('a', 2)
    await addToInbox(database(), [event({ messageId: 'b-late', sourceId: 'b' })])
    // The same event is there once; another destination does not make it another one.
    expect(await add('a', 3, { destinationIds: ['other'] })).toBe(1)
    expect(await inboxDepth(database())).toBeGreaterThanOrEqual(7)

    const first = await lease(turnsOf('a', 'b', 'nobody'), 2)
    expect(idsOf(first)).toEqual(['b-0', 'b-1', 'a-0', 'a-1'])
    expect(idsOf(await lease(turnsOf('a', 'b')))).toEqual(['b-2', 'b-late'])
    expect(await lease(turnsOf('a', 'b'))).toEqual([])

    await removeFromInbox(database(), seqsOf(first))
    expect(idsOf(await listQueued(database(), {}, 10)).sort()).toEqual(['a-2', 'b-2', 'b-late'])
  })

  it('gives back what a node leaves, and what a node that died had when its lease is over', async () => {
    await add('src', 4)
    const mine = await lease(turnsOf('src'), 2)
    await releaseInInbox(database(), seqsOf(mine))
    // Before what arrived later.
    expect(idsOf(await lease(turnsOf('src'), 3))).toEqual(['src-0', 'src-1', 'src-2'])
    await database().query(`update inbox set leased_until = now() - interval '1 second' where message_id = 'src-1'`)
    expect(idsOf(await lease(turnsOf('src')))).toEqual(['src-1', 'src-3'])
  })

  it('lets sources and destinations take turns, whether their endpoints are open, tried, probed, shut or full', async () => {
    await add('both', 1, { destinationIds: ['up', 'down'] })
    await add('one', 2, { destinationIds: ['down'] })
    await addToInbox(database(), [event({ messageId: 'other', sourceId: 'one', destinationIds: ['away'] })])
    await add('two', 1, { destinationIds: ['up'] })
    await add('none', 1, { destinationIds: [] })
    await add('new', 1, { destinationIds: ['unknown'] })
    await add('many', 1, { destinationIds: ['paced'] })
    const asked: (readonly string[])[] = []
    const { next } = createInboxTurns(database(), (destinationIds) => {
      asked.push(destinationIds)
      if (destinationIds.includes('up') || destinationIds.length === 0) return 'open'
      if (destinationIds.includes('unknown')) return 'trial'
      if (destinationIds.includes('paced')) return 'full'
      return destinationIds.includes('away') ? 'shut' : 'probe'
    })
    const turns = await next()
    expect(asked).toContainEqual(['up', 'down'])
    expect({ ...turns, open: turns.open.toSorted() }).toEqual({
      open: [turnOf('both', 'up', 'down'), turnOf('none'), turnOf('two', 'up')],
      trial: [turnOf('new', 'unknown')],
      probe: [turnOf('one', 'down')],
      shut: [turnOf('one', 'away')],
      full: [turnOf('many', 'paced')],
    })
    expect(idsOf(await lease(turns.probe, 1))).toEqual(['one-0'])
  })

  it('reaches every turn where more wait than it looks at together', async () => {
    const names = Array.from({ length: 120 }, (_, n) => `source-${String(n).padStart(3, '0')}`)
    await addToInbox(
      database(),
      names.map((sourceId) => event({ messageId: 'm', sourceId })),
    )
    const next = allOpen()
    const looks = [await next(), await next(), await next()].map(({ open }) => open)
    expect(looks.map(({ length }) => length)).toEqual([50, 50, 20])
    expect(looks.flat().toSorted()).toEqual(turnsOf(...names))
    // Then the first ones again.
    expect((await next()).open).toEqual(looks[0])
  })

  it('keeps what was refused or cancelled out of the way, for a time', async () => {
    await add('src', 4)
    const [refused, taken] = await lease(turnsOf('src'), 2)
    await refuseInInbox(database(), refused?.seq ?? '', 'too large')
    // A node is about to start it.
    expect(await cancelInInbox(database(), idOf('src-1'), {})).toBe(false)
    expect(await claimInInbox(database(), idOf('src-1'), leaseMs)).toBeUndefined()
    expect(await cancelInInbox(database(), idOf('src-2'), { by: 'ann', why: 'mistake' })).toBe(true)
    expect(await cancelInInbox(database(), idOf('src-2'), {})).toBe(false)
    expect(await claimInInbox(database(), idOf('src-2'), leaseMs)).toBeUndefined()
    // It takes no turn, and cannot be removed as started.
    const [cancelled] = await leaseCancelled(database(), 10, leaseMs)
    const [waiting] = await lease(turnsOf('src'))
    expect([cancelled?.cancelled, waiting?.cancelled]).toEqual([{ by: 'ann', why: 'mistake' }, undefined])
    expect([cancelled, waiting].map((one) => one?.input.messageId)).toEqual(['src-2', 'src-3'])
    await removeFromInbox(database(), seqsOf([cancelled, waiting, taken].filter((one) => one !== undefined)))
    await settleCancelled(database(), cancelled?.seq ?? '', false)
    expect(await turnsIn()).toEqual([])
    expect(idsOf(await listEndedInInbox(database(), { status: 'cancelled' }, 10))).toEqual(['src-2'])
    expect(idsOf(await listEndedInInbox(database(), { status: 'failed' }, 10))).toEqual(['src-0'])
    expect(idsOf(await listQueued(database(), {}, 10))).toEqual([])
    await removeSettled(database(), new Date(Date.now() - 60_000))
    expect(await listEndedInInbox(database(), {}, 10)).toHaveLength(2)
    await removeSettled(database(), new Date(Date.now() + 60_000))
    expect(await listEndedInInbox(database(), {}, 10)).toEqual([])
  })

  it('lists what waits apart from what ended, the latest to end first, page by page', async () => {
    await add('src', 6)
    const ended = ['src-4', 'src-0', 'src-5', 'src-1']
    for (const id of ended) expect(await cancelInInbox(database(), idOf(id), {})).toBe(true)
    // Its cancellation counts, though it is settled later than others were cancelled.
    for (const { seq, input } of await leaseCancelled(database(), 10, leaseMs))
      if (input.messageId === 'src-4') await settleCancelled(database(), seq, false)
    // Two at one moment.
    await database().query(
      `update inbox set cancelled_at = (select cancelled_at from inbox where message_id = 'src-5') where message_id = 'src-1'`,
    )
    expect(idsOf(await listQueued(database(), {}, 10))).toEqual(['src-3', 'src-2'])
    const latestFirst = ['src-5', 'src-1', 'src-0', 'src-4']
    expect(idsOf(await listEndedInInbox(database(), {}, 10))).toEqual(latestFirst)
    const inTurn: string[] = []
    for (let page = await listEndedInInbox(database(), {}, 1); page.length > 0 && inTurn.length < 6;) {
      inTurn.push(...idsOf(page))
      page = await listEndedInInbox(database(), {}, 1, page[0]?.position)
    }
    expect(inTurn).toEqual(latestFirst)
  })

  it('cancels all that match and wait, some at a time, and tells what a node is about to start', async () => {
    await add('src', 5)
    await add('other', 2)
    const [taken, refused] = await lease(turnsOf('src'), 2)
    await refuseInInbox(database(), refused?.seq ?? '', 'too large')
    expect(await cancelInInbox(database(), idOf('src-3'), {})).toBe(true)
    const cancelled: [string, boolean][] = []
    for (let after: string | undefined; ;) {
      const some = await cancelOldestInInbox(
        database(),
        { sourceId: 'src', status: 'queued' },
        { by: 'ann', why: 'mistake' },
        after,
        2,
      )
      if (some.length === 0) break
      expect(some.length).toBeLessThanOrEqual(2)
      after = some.at(-1)?.seq
      for (const { workflowId, isCancelled } of some) cancelled.push([workflowId, isCancelled])
    }
    expect(cancelled).toEqual([
      [idOf('src-0'), false],
      [idOf('src-2'), true],
      [idOf('src-4'), true],
    ])
    expect(await lease(turnsOf('src'))).toEqual([])
    await releaseInInbox(database(), seqsOf(taken ? [taken] : []))
    expect(idsOf(await lease(turnsOf('src', 'other')))).toEqual(['src-0', 'other-0', 'other-1'])
    const ended = (filter: DeliveryFilter) =>
      oldestEndedInInbox(database(), { sourceId: 'src', ...filter }, undefined, 10)
    const idsOfEnded = async (filter: DeliveryFilter) => (await ended(filter)).map(({ workflowId }) => workflowId)
    expect(await idsOfEnded({})).toEqual(['src-1', 'src-2', 'src-3', 'src-4'].map((id) => idOf(id)))
    expect(await idsOfEnded({ status: 'failed' })).toEqual([idOf('src-1')])
    const [steered] = await leaseCancelled(database(), 1, leaseMs)
    expect(steered?.cancelled).toEqual({ by: 'ann', why: 'mistake' })
  })

  it('gives up what waited for endpoints for as long as it may be tried, of that turn alone', async () => {
    await add('src', 3)
    await add('other', 1)
    await database().query(`update inbox set received_at = now() - interval '1 hour' where message_id <> 'src-2'`)
    expect(await cancelInInbox(database(), idOf('src-1'), {})).toBe(true)
    expect(await giveUpOverdue(database(), turnOf('src', 'dst'), 60_000, 'never taken', 10)).toBe(1)
    const failed = await listEndedInInbox(database(), { status: 'failed' }, 10)
    expect(failed.map(({ input, refusal }) => [input.messageId, refusal])).toEqual([['src-0', 'never taken']])
  })

  it('gives up no event before the longest window of its endpoints is over', async () => {
    await database().query(
      `insert into destinations (id, name, type, enabled, success_policy, retry_window_hours, created_at)
       values ('dst', 'Patient', 'webhooks', true, 'any', 1, now())`,
    )
    await database().query(
      `insert into endpoints (id, destination_id, position, url, headers_encrypted, options)
       values ('ep-own', 'dst', 1, 'http://a', '', '{"retryWindowHours":3}'), ('ep', 'dst', 2, 'http://b', '', '{}')`,
    )
    await add('src', 1)
    const giveUpAfter = async (age: string) => {
      await database().query('update inbox set received_at = now() - $1::interval', [age])
      return giveUpOverdue(database(), turnOf('src', 'dst'), 1_000, 'never taken', 10)
    }
    expect(await giveUpAfter('170 minutes')).toBe(0)
    await database().query(`update endpoints set options = '{}'`)
    expect(await giveUpAfter('50 minutes')).toBe(0)
    expect(await giveUpAfter('70 minutes')).toBe(1)
  })

  const move = (name: string, turns: string[], perTurn = 100) => moveIntoParcels(database(), name, turns, perTurn)
  const placesOf = (parcelId: string) =>
    database().query<{ place: number; message_id: string; status: string }>(
      'select place, message_id, status from parcel_events where parcel_id = $1 order by place',
      [parcelId],
    )
  const countsOf = async (parcelId: string) => {
    const [row] = await database().query<Record<string, unknown>>('select * from parcels where id = $1', [parcelId])
    return row
  }

  it('moves the oldest into parcels of one turn each, with places in order of arrival', async () => {
    await add('a', 130)
    await add('b', 3)
    await add('c', 3)
    const parcels = await move('group', turnsOf('a', 'b'), 120)
    expect(parcels.map(({ events }) => events.length).toSorted((x, y) => y - x)).toEqual([100, 20, 3])
    const whole = parcels.find(({ events }) => events.length === 100)
    const rest = parcels.find(({ events }) => events.length === 20)
    const other = parcels.find(({ events }) => events.length === 3)
    if (whole === undefined || rest === undefined || other === undefined) throw new Error('a parcel is missing')
    expect([...messagesOf(whole), ...messagesOf(rest)]).toEqual(numbered('a', 120))
    expect(messagesOf(other)).toEqual(numbered('b', 3))
    for (const parcel of parcels) {
      const rows = await placesOf(parcel.id)
      expect(rows.map(({ place }) => place)).toEqual(parcel.events.map((_, place) => place))
      expect(rows.map(({ message_id }) => message_id)).toEqual(messagesOf(parcel))
      expect(await countsOf(parcel.id)).toMatchObject({ delivering: rows.length, delivered: 0, taken_at: null })
    }
    expect(idsOf(await listQueued(database(), { sourceId: 'a' }, 100)).toSorted()).toEqual(
      numbered('a', 130).slice(120).toSorted(),
    )
    expect(idsOf(await listQueued(database(), { sourceId: 'c' }, 10))).toHaveLength(3)
  })

  it('makes no parcel of more than 256 KB, unless a single event is larger', async () => {
    const sizes = Array.from({ length: 90 }, (_, n) => (n % 3 === 0 ? 32_000 : 200 * (n % 7)))
    await addToInbox(database(), [
      ...sizes.map((size, n) => event({ messageId: `src-${n}`, size })),
      ...[200, 300_000, 200].map((size, n) => event({ sourceId: 'huge', messageId: `huge-${n}`, size })),
    ])
    const parcels = await move('large', turnsOf('src', 'huge'))
    expect(parcels.flatMap(messagesOf).toSorted()).toEqual(
      [...numbered('src', sizes.length), ...numbered('huge', 3)].toSorted(),
    )
    for (const { id, events } of parcels) {
      const bytes = events.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0)
      if (events.length > 1) expect(bytes).toBeLessThanOrEqual(256 * 1024)
      expect((await placesOf(id)).map(({ place }) => place)).toEqual(events.map((_, place) => place))
    }
    // 1 MB of the one source, and three of the other.
    expect(parcels.length).toBeLessThanOrEqual(6 + 3)
  })

  it('fills parcels by the number of events where these are small, and by their size where they are large', async () => {
    await add('small', 400, { size: 700 })
    await add('large', 60, { size: 10_000 })
    const parcels = await move('group', turnsOf('small', 'large'), 400)
    const sizesOf = (sourceId: string): number[] =>
      parcels.filter(({ events }) => events[0]?.sourceId === sourceId).map(({ events }) => events.length)
    expect(sizesOf('small')).toEqual([100, 100, 100, 100])
    expect(sizesOf('large')).toEqual([20, 20, 20])
  })

  it('leaves alone what a node has leased, and what was cancelled', async () => {
    await add('src', 4)
    await lease(turnsOf('src'), 1)
    await cancelInInbox(database(), idOf('src-2'), {})
    expect((await move('group', turnsOf('src'))).map(messagesOf)).toEqual([['src-1', 'src-3']])
    expect(await move('nothing', turnsOf('src', 'nobody'))).toEqual([])
  })

  it('has every event in one parcel alone when two nodes move them at once', async () => {
    await add('src', 900)
    const nodes = ['one', 'two'].map(async (node) => {
      const moved: string[] = []
      for (let round = 0; round < 20; round++)
        for (const parcel of await move(`${node}-${round}`, turnsOf('src'), 70)) moved.push(...messagesOf(parcel))
      return moved
    })
    const moved = (await Promise.all(nodes)).flat()
    expect(moved.toSorted()).toEqual(numbered('src', 900).toSorted())
    expect(await turnsIn()).toEqual([])
    const [row] = await database().query<{ count: string }>('select count(*) as count from parcel_events')
    expect(Number(row?.count)).toBe(900)
  })

  it('takes no event that is in a parcel a second time', async () => {
    await add('src', 2)
    await move('group', turnsOf('src'))
    expect(await add('src', 3)).toBe(1)
    expect(idsOf(await listQueued(database(), {}, 10))).toEqual(['src-2'])
    const asked = ['src-0', 'src-1', 'src-2'].map((id) => idOf(id))
    expect(await findInParcels(database(), asked)).toEqual(new Set(asked.slice(0, 2)))
  })

  describe('with the order of each user', () => {
    const addInOrder = (...events: NewEvent[]) => addToInbox(database(), events.map(event))
    const turns = turnsOf('src')
    const leased = async (): Promise<string[]> => idsOf(await lease(turns))
    const places = async (): Promise<string[]> =>
      (await database().query<{ ticket: string }>('select ticket from user_lines order by ticket')).map(
        ({ ticket }) => ticket,
      )
    const leave = (...tickets: string[]) => leaveLines(database(), tickets)

    it('starts the next event of a user when those before it have ended, and those of others meanwhile', async () => {
      await addInOrder(
        { messageId: 'a0', user: 'a' },
        { messageId: 'a1', user: 'a' },
        { messageId: 'b0', user: 'b' },
        { messageId: 'a2', user: 'a' },
      )
      const first = await lease(turns)
      expect(idsOf(first)).toEqual(['a0', 'b0'])
      expect(await leased()).toEqual([])
      await removeFromInbox(database(), seqsOf(first))
      expect(await leased()).toEqual([])
      expect((await listQueued(database(), {}, 10)).map(({ isBehind }) => isBehind)).toEqual([true, true])
      await leave('a0/dst')
      expect(await leased()).toEqual(['a1'])
      await leave('a1/dst')
      const moved = await move('group', turns)
      expect(moved.flatMap(messagesOf)).toEqual(['a2'])
    })

    it('moves one event of each user into parcels, and goes on as they end there', async () => {
      await addInOrder(...['a0', 'a1', 'b0'].map((messageId) => ({ messageId, user: messageId.slice(0, 1) })), {
        messageId: 'nobody',
      })
      const [parcel] = await move('group', turns)
      expect(parcel && messagesOf(parcel)).toEqual(['a0', 'b0', 'nobody'])
      expect(await move('next', turns)).toEqual([])
      expect(await places()).toEqual(['a0/dst', 'a1/dst', 'b0/dst'])
      const { id = '', events = [] } = parcel ?? {}
      const attempt = { endpointId: 'dst-ep', at: new Date().toISOString(), durationMs: 1 }
      const pace = { retry: { initialMs: 1, maxMs: 1 }, windowEndsAt: Date.now() + leaseMs }
      const after = (place: number, outcome: AttemptOutcome): EventProgress[] =>
        events.slice(place, place + 1).map((one) => {
          const begun = beginEvent(one, place)
          const [destination] = begun.destinations
          if (destination === undefined) return begun
          const moment = { now: Date.now(), random: Math.random }
          const endpoints = destination.endpoints.map((endpoint) => afterAttempt(endpoint, outcome, pace, moment))
          return withDestination(begun, { ...destination, endpoints })
        })
      const record = (progress: EventProgress[]) => recordProgress(database(), [{ parcelId: id, progress }])
      expect(await record(after(0, { kind: 'unavailable', attempt, pausedTotalMs: 0 }))).toBe(false)
      expect(await move('none', turns)).toEqual([])
      expect(await record(after(0, { kind: 'rejected', reason: 'no' }))).toBe(true)
      expect((await move('last', turns)).flatMap(messagesOf)).toEqual(['a1'])
      expect(await places()).toEqual(['a1/dst', 'b0/dst'])
    })

    it('lets an event go that has waited for long enough, or whose predecessor has, and one behind what never began', async () => {
      await addInOrder({ messageId: 'a0', user: 'a', orderWaitMs: 1 }, { messageId: 'b0', user: 'b' })
      await addInOrder({ messageId: 'a1', user: 'a', orderWaitMs: 1, receivedAt: new Date(0) })
      const first = await lease(turns)
      expect(idsOf(first)).toEqual(['a0', 'b0', 'a1'])
      await addInOrder({ messageId: 'b1', user: 'b' })
      expect(await leased()).toEqual([])
      await removeFromInbox(database(), seqsOf(first))
      expect(await leased()).toEqual([])
      await database().query("update user_lines set taken_at = now() - interval '1 hour'")
      expect(await leased()).toEqual(['b1'])
      await addInOrder({ messageId: 'c0', user: 'c' }, { messageId: 'c1', user: 'c' })
      expect(await cancelInInbox(database(), idOf('c0'), {})).toBe(true)
      const [cancelled] = await leaseCancelled(database(), 10, leaseMs)
      await settleCancelled(database(), cancelled?.seq ?? '', false)
      expect(await leased()).toEqual(['c1'])
    })

    const behind = async (): Promise<string[]> =>
      (
        await database().query<{ messageId: string }>(
          'select message_id as "messageId" from inbox where is_behind order by seq',
        )
      ).map(({ messageId }) => messageId)

    it('looks at the first event of each user alone, whoever of them goes', async () => {
      await addInOrder(...['a0', 'a1', 'b0', 'a2', 'a3', 'a4'].map((id) => ({ messageId: id, user: id.slice(0, 1) })))
      await addInOrder({ messageId: 'a5', user: 'a' }, { messageId: 'nobody' })
      expect(await behind()).toEqual(['a1', 'a2', 'a3', 'a4', 'a5'])
      const first = await lease(turns)
      expect(idsOf(first)).toEqual(['a0', 'b0', 'nobody'])
      expect(await behind()).toEqual(['a2', 'a3', 'a4', 'a5'])
      await removeFromInbox(database(), seqsOf(first))
      // An operator cancels one, and orders another one now.
      expect(await cancelInInbox(database(), idOf('a1'), {})).toBe(true)
      const claimed = await claimInInbox(database(), idOf('a2'), leaseMs)
      await removeFromInbox(database(), claimed ? [claimed.seq] : [])
      expect(await behind()).toEqual(['a4', 'a5'])
      const [cancelled] = await leaseCancelled(database(), 10, leaseMs)
      expect(cancelled?.input.messageId).toBe('a1')
      await settleCancelled(database(), cancelled?.seq ?? '', false)
      expect(await leased()).toEqual([])
      await leave('a0/dst')
      const [parcel] = await move('group', turns)
      expect(parcel && messagesOf(parcel)).toEqual(['a3'])
      expect(await behind()).toEqual(['a5'])
      await endLostParcel(database(), parcel?.id ?? '')
      const [refused] = await lease(turns)
      await refuseInInbox(database(), refused?.seq ?? '', 'too large')
      expect(refused?.input.messageId).toBe('a4')
      expect(await leased()).toEqual(['a5'])
      expect(await places()).toEqual(['a5/dst', 'b0/dst'])
    })

    it('reads a few rows of a line, however long it is, and whatever is known of the tables', async () => {
      const long = 5_000
      const few = 50
      const read = async (tx: Queryable): Promise<number> => {
        const [row] = await tx.query<{ rows: number }>(
          `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables
           where relname in ('inbox', 'user_lines')`,
        )
        return row?.rows ?? 0
      }
      await addInOrder(...numbered('long', long).map((messageId) => ({ messageId, user: 'a' })))
      await addInOrder(...numbered('one', long).map((messageId) => ({ messageId, user: messageId })))
      const [turn = ''] = turns
      for (const n of [0, 1]) {
        const steps: Record<string, (tx: Queryable) => Promise<unknown>> = {
          look: (tx) => leaseFromInbox(tx, [turn], 1, leaseMs),
          end: (tx) => leaveLines(tx, [`long-${n}/dst`]),
          come: (tx) => addToInbox(tx, [event({ messageId: `new-${n}`, user: 'a' })]),
        }
        const many: Record<string, number> = {}
        await database().transaction(async (tx) => {
          for (const [name, step] of Object.entries(steps)) {
            const before = await read(tx)
            await step(tx)
            const rows = (await read(tx)) - before
            if (rows > few) many[name] = rows
          }
        })
        expect(many).toEqual({})
        await database().query('analyze')
      }
    })

    it('says of an event that it goes before its turn, and keeps the order of its members', async () => {
      await addInOrder(...['a0', 'a1', 'a2', 'a3'].map((messageId) => ({ messageId, user: 'a' })))
      expect(await leased()).toEqual(['a0'])
      expect(await behind()).toEqual(['a2', 'a3'])
      await database().query("update inbox set waits_until = now() - interval '1 minute'")
      await wakeExpired(database(), 10)
      expect(await behind()).toEqual([])
      const early = await lease(turns, 1)
      expect(early.map(({ input }) => [input.messageId, input.isOutOfOrder])).toEqual([['a1', true]])
      const [parcel] = await move('group', turns)
      expect(parcel?.events.map(({ messageId, isOutOfOrder }) => [messageId, isOutOfOrder])).toEqual([
        ['a2', true],
        ['a3', true],
      ])
      const { message } = event({ messageId: 'a2', user: 'a' }).input
      expect(JSON.stringify(parcel?.events[0]?.message)).toBe(JSON.stringify(message))
    })

    it('stalls nobody where events are written, started and ended at the same time', async () => {
      const users = ['a', 'b', 'c']
      const each = 40
      const ended: string[] = []
      const write = async (): Promise<void> => {
        for (let n = 0; n < each; n += 2)
          await addInOrder(...[n, n + 1].flatMap((m) => users.map((user) => ({ messageId: `${user}${m}`, user }))))
      }
      const end = async ({ input }: LeasedEvent): Promise<void> => {
        await leave(`${input.messageId}/dst`)
        ended.push(input.messageId)
      }
      const drain = () =>
        until('all have ended', async () => {
          const events = await lease(turns)
          await removeFromInbox(database(), seqsOf(events))
          await Promise.all(events.map(end))
          return ended.length === users.length * each
        })
      await Promise.all([write(), drain()])
      for (const user of users)
        expect(ended.filter((id) => id.startsWith(user))).toEqual(Array.from({ length: each }, (_, n) => `${user}${n}`))
    })

    it('gives up the place of a repeat, but not of what was begun twice', async () => {
      await addInOrder({ messageId: 'a0', user: 'a' })
      const [{ seq = '' } = {}] = await lease(turns)
      await releaseInInbox(database(), [seq])
      await lease(turns)
      await leaveLinesOfRepeats(database(), [seq])
      expect(await places()).toEqual(['a0/dst'])
      await addInOrder({ messageId: 'b0', user: 'b' })
      await leaveLinesOfRepeats(database(), seqsOf(await lease(turns)))
      expect(await places()).toEqual(['a0/dst'])
    })

    it('gives up the place of a repeat that was taken and given back before its start was tried', async () => {
      await addInOrder({ messageId: 'a0', user: 'a' })
      await addInOrder({ messageId: 'a1', user: 'a' })
      await releaseUntried(database(), seqsOf(await lease(turns)))
      const [parcel] = await move('group', turns)
      expect(parcel && messagesOf(parcel)).toEqual(['a0'])
      await removeFromParcel(database(), parcel?.id ?? '', [idOf('a0')])
      expect(await places()).toEqual(['a1/dst'])
      expect(await leased()).toEqual(['a1'])
    })

    it('says of no cancelled event that it waits for others', async () => {
      await addInOrder(...['a0', 'a1', 'a2'].map((messageId) => ({ messageId, user: 'a' })))
      expect(await cancelInInbox(database(), idOf('a1'), {})).toBe(true)
      const listed = [...(await listQueued(database(), {}, 10)), ...(await listEndedInInbox(database(), {}, 10))]
      expect(listed.map(({ isBehind }) => isBehind)).toEqual([true, false, false])
    })

    it('lets the next event go when a parcel was lost with the one before it', async () => {
      await addInOrder(...['a0', 'a1'].map((messageId) => ({ messageId, user: 'a' })))
      const [parcel] = await move('group', turns)
      await endLostParcel(database(), parcel?.id ?? '')
      expect(await places()).toEqual(['a1/dst'])
      expect(await leased()).toEqual(['a1'])
    })

    it('gives up no event that may still wait for others', async () => {
      const receivedAt = new Date(Date.now() - 2 * leaseMs)
      await addInOrder(
        { messageId: 'a0', user: 'a', receivedAt, orderWaitMs: 1 },
        { messageId: 'a1', user: 'a', receivedAt, orderWaitMs: 4 * leaseMs },
      )
      expect(await giveUpOverdue(database(), turns[0] ?? '', leaseMs, 'down', 10)).toBe(1)
      expect(await leased()).toEqual(['a1'])
    })

    it('has no places of users whose events a deletion request removes', async () => {
      await addInOrder(...['a0', 'b0', 'a1'].map((messageId) => ({ messageId, user: messageId.slice(0, 1) })))
      const id = newDeletionRequestId()
      const order = { id, userIds: ['a'], scope: undefined, sourceIds: [], suppress: false, createdAt: new Date() }
      await createDeletionRequest(database(), order)
      expect(await places()).toEqual(['b0/dst'])
      expect(await leased()).toEqual(['b0'])
    })

    it('has no places of events that stand in no line, and forgets those of which nothing is left', async () => {
      await add('src', 3)
      expect(await places()).toEqual([])
      await addInOrder(...['gone', 'waits', 'began'].map((messageId) => ({ messageId, user: messageId })), {
        messageId: 'twice',
        user: 'twice',
        destinationIds: ['dst', 'other'],
      })
      await database().query("delete from inbox where message_id <> 'waits' and message_id <> 'twice'")
      await database().query("update user_lines set taken_at = now() where ticket = 'began/dst'")
      await removeLostPlaces(database())
      expect(await places()).toEqual(['began/dst', 'twice/dst', 'twice/other', 'waits/dst'])
    })
  })

  const only = <Value>(values: Value[]): Value => {
    const [value, ...others] = values
    if (value === undefined || others.length > 0) throw new Error(`${values.length} instead of one`)
    return value
  }
  const madeAgo = (seconds: number) =>
    database().query('update parcels set made_at = now() - make_interval(secs => $1)', [seconds])

  it('gives a parcel of which nothing was heard to one node, with all of its events, and later to the next', async () => {
    await add('src', 3)
    const made = only(await move('group', turnsOf('src')))
    const { id, events } = made
    const claim = () => claimLostParcels(database(), 15_000, 10)
    expect(await claim()).toEqual([])
    await madeAgo(60)
    const claimed = (await Promise.all([claim(), claim()])).flat()
    expect(claimed).toEqual([made])
    expect(await claim()).toEqual([])
    await madeAgo(60)
    await recordProgress(database(), [{ parcelId: id, progress: events.map(beginEvent) }])
    expect(await claim()).toEqual([])
  })

  it('moves the others up when events are taken out of a parcel', async () => {
    await add('src', 5)
    const { id } = only(await move('group', turnsOf('src')))
    await database().transaction((tx) => removeFromParcel(tx, id, [idOf('src-0'), idOf('src-3'), idOf('not-there')]))
    expect((await placesOf(id)).map(({ place, message_id }) => [place, message_id])).toEqual([
      [0, 'src-1'],
      [1, 'src-2'],
      [2, 'src-4'],
    ])
    expect(await countsOf(id)).toMatchObject({ delivering: 3, taken_at: null })
    await madeAgo(60)
    expect((await claimLostParcels(database(), 15_000, 10)).map(messagesOf)).toEqual([['src-1', 'src-2', 'src-4']])
  })

  it('records how far events are, counts them, and lets go of those that left', async () => {
    await add('src', 4)
    const { id, events } = only(await move('group', turnsOf('src')))
    const begun = events.map(beginEvent)
    const moment = { now: Date.now(), random: Math.random }
    const pace = { retry: { initialMs: 1_000, maxMs: 1_000 }, windowEndsAt: moment.now + 60_000 }
    const after = (place: number, outcome: AttemptOutcome): EventProgress => {
      const before = begun[place]
      const [destination] = before?.destinations ?? []
      if (before === undefined || destination === undefined) throw new Error(`no event at place ${place}`)
      const endpoints = destination.endpoints.map((endpoint) => afterAttempt(endpoint, outcome, pace, moment))
      return withDestination(before, { ...destination, endpoints })
    }
    const attempt = { endpointId: 'dst-ep', at: '2026-01-01T00:00:00.000Z', durationMs: 1 }
    const delivered = after(0, { kind: 'delivered', attempt: { ...attempt, status: 200 } })
    const failedOnce = { ...attempt, status: 503, error: 'status 503' }
    const retrying = after(1, { kind: 'unavailable', attempt: failedOnce, pausedTotalMs: 0 })
    await recordProgress(database(), [{ parcelId: id, progress: [delivered, retrying] }])
    // Of two of them nothing was heard yet.
    expect(await countsOf(id)).toMatchObject({ delivering: 2, retrying: 1, delivered: 1, taken_at: null })
    expect(await recordedProgress(database(), id)).toEqual(
      new Map([
        [0, { taken: [[Date.parse(attempt.at), 1, 200]] }],
        [1, { progress: retrying }],
      ]),
    )
    // Who lost what came since does not take it back.
    await recordProgress(database(), [{ parcelId: id, progress: begun.slice(0, 2) }])
    expect(await countsOf(id)).toMatchObject({ delivering: 2, retrying: 1, delivered: 1, taken_at: null })
    const rejected = after(2, { kind: 'rejected', reason: 'status 404', attempt: { ...attempt, status: 404 } })
    await recordProgress(database(), [
      { parcelId: id, progress: [rejected, { ...after(3, { kind: 'held' }), end: 'left' }] },
    ])
    expect(await countsOf(id)).toMatchObject({ delivering: 0, retrying: 1, delivered: 1, failed: 1, held: 0 })
    expect((await countsOf(id))?.['taken_at']).toBeInstanceOf(Date)
    expect(
      await database().query(
        `select message_id, status, attempts, reason, ended_at is not null as ended, input is null as taken
         from parcel_events order by place`,
      ),
    ).toEqual([
      { message_id: 'src-0', status: 'delivered', attempts: 1, reason: null, ended: true, taken: true },
      { message_id: 'src-1', status: 'retrying', attempts: 1, reason: 'status 503', ended: false, taken: true },
      { message_id: 'src-2', status: 'failed', attempts: 1, reason: 'status 404', ended: true, taken: true },
    ])
    // The one that left goes on in a workflow of its own; those that are over are forgotten with the parcel.
    const soon = new Date(Date.now() + 60_000)
    await removeOldParcels(database(), soon)
    expect(await placesOf(id)).toHaveLength(3)
    await recordProgress(database(), [{ parcelId: id, progress: [after(1, { kind: 'delivered', attempt })] }])
    await removeOldParcels(database(), new Date(Date.now() - 60_000))
    expect(await hasParcels(database())).toBe(true)
    await removeOldParcels(database(), soon)
    expect(await hasParcels(database())).toBe(false)
    expect(await findInParcels(database(), [idOf('src-0')])).toEqual(new Set())
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
  afterEach(async () => {
    await database.query('delete from inbox')
    await database.query('delete from parcels')
    await database.query('delete from user_lines')
    await database.query('delete from destinations')
  })
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

  const events = (...ids: string[]) => ids.map((messageId) => event({ messageId }))
  const waits = async (): Promise<boolean> =>
    (await database.query("select 1 from pg_stat_activity where wait_event_type = 'Lock'")).length > 0

  it('wakes events of two lines in one order, however two nodes come upon them', async () => {
    // Both wait at two destinations for events that go to one of them alone.
    const both = ['one', 'other'].map((user) => event({ messageId: user, user, destinationIds: ['dst', 'dst2'] }))
    const ahead = [
      event({ messageId: 'a', user: 'other', destinationIds: ['dst'] }),
      event({ messageId: 'b', user: 'one', destinationIds: ['dst'] }),
      event({ messageId: 'c', user: 'one', destinationIds: ['dst2'] }),
      event({ messageId: 'd', user: 'other', destinationIds: ['dst2'] }),
    ]
    await addToInbox(database, [...ahead, ...both])
    const waitFor = (sessions: number) =>
      until('they wait for it', async () => {
        const waiting = await database.query("select from pg_stat_activity where wait_event_type = 'Lock'")
        return waiting.length === sessions
      })
    const leaving: Promise<void>[] = []
    await database.transaction(async (tx) => {
      await tx.query("select from inbox where message_id = 'one' for update")
      leaving.push(leaveLines(database, ['c/dst2', 'd/dst2']))
      await waitFor(1)
      leaving.push(leaveLines(database, ['a/dst', 'b/dst']))
      await waitFor(2)
    })
    await Promise.all(leaving)
    expect(await database.query('select from inbox where is_behind')).toEqual([])
  })

  it('writes an event into one parcel alone when two nodes write it at once', async () => {
    let other: Promise<ParcelToStart[]> | undefined
    const first = await database.transaction(async (tx) => {
      const written = await writeIntoParcels(tx, 'one/', events('m1', 'm2'))
      other = writeIntoParcels(database, 'two/', events('m2', 'm3'))
      await until('the other node waits', waits)
      return written
    })
    expect(first.map(messagesOf)).toEqual([['m1', 'm2']])
    expect((await other)?.map(messagesOf)).toEqual([['m3']])
  })

  it('goes on with its turn when one that waits is in a parcel of another node, too', async () => {
    await database.transaction(async (tx) => {
      await writeIntoParcels(tx, 'one/', events('m1'))
      expect(await addToInbox(database, events('m1', 'm2'))).toBe(2)
    })
    const moved = await moveIntoParcels(database, 'two/', [turnOf('src', 'dst')], 10)
    expect(moved.map(messagesOf)).toEqual([['m2']])
    expect(await inboxDepth(database)).toBe(0)
  })
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
