/** Pages of the delivery log: what waits in the inbox, newest first; behind it Temporal's visibility, the events of parcels, and what
 *  ended in the inbox as one list. */

import { z } from 'zod'
import type { Database } from '../db/database.ts'
import { listEndedInInbox, listQueued, type EndedPosition } from '../db/inbox-list.ts'
import { jsonCursors, type Page, type PageRequest } from '../db/page.ts'
import { listCarried, type CarriedPosition } from '../db/parcel-list.ts'
import { PartAwayError } from '../errors.ts'
import type { Delivery, DeliveryFilter } from '../schemas/delivery.ts'
import type { Deliveries, ListPosition } from '../temporal/deliveries.ts'
import { mergeNewestFirst } from '../temporal/merge-newest-first.ts'
import type { WhilePresent } from '../within.ts'
import { carriedRow, queuedRow } from './rows.ts'

export interface ListPageDependencies {
  database: Database
  deliveries: Deliveries
  /** Ids of the destinations that hold their deliveries now. */
  pausedDestinations: () => string[]
  isPaused: (destinationId: string) => boolean
}

/** Reads a page.
 *  @throws AppError bad_request when the cursor is not one of this list */
export type ListPage = (
  filter: DeliveryFilter,
  page: PageRequest,
  whilePresent: WhilePresent,
) => Promise<Page<Delivery>>

const MicrosSchema = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
const SeqSchema = z
  .string()
  .regex(/^-?\d{1,19}$/)
  .refine((seq) => BigInt.asIntN(64, BigInt(seq)) === BigInt(seq))

/** Where a page begins: in the inbox before a position, or behind it. */
const CursorSchema = z.union([
  z.object({ before: SeqSchema }),
  z.object({
    /** Page tokens of Temporal's lists; null at their end. */
    tokens: z.array(z.base64().nullable()).nullable(),
    /** The last event of a parcel that was shown; null at their end. */
    carried: z.union([z.literal('first'), z.object({ endedAt: MicrosSchema.nullable(), seq: SeqSchema })]).nullable(),
    /** The last event shown that ended in the inbox; null at their end. Cursors of the version before lack it. */
    ended: z
      .union([z.literal('first'), z.object({ endedAt: MicrosSchema, seq: SeqSchema })])
      .nullable()
      .default('first'),
  }),
])
type Cursor = z.infer<typeof CursorSchema>
const cursors = jsonCursors(CursorSchema)

/** Where a list goes on: behind the position of a row, or at its beginning; undefined at its end. */
type From<Position> = Position | 'first' | undefined

/** Where the lists behind what waits go on. */
interface BehindPosition {
  tokens: ListPosition | undefined
  carried: From<CarriedPosition>
  ended: From<EndedPosition>
}

const beginning: BehindPosition = { tokens: [], carried: 'first', ended: 'first' }

/** A page of a list from the database. */
interface Part<Position> {
  rows: Delivery[]
  /** Where the list goes on after so many of the rows. */
  after: (taken: number) => From<Position>
}

/** Reads one row more than a page has, which tells whether it is the last.
 *  @param left  ids of rows to leave out */
async function readPart<Position, Event extends { position: Position }>(
  from: From<Position>,
  limit: number,
  read: (limit: number, after: Position | undefined) => Promise<Event[]>,
  toRow: (event: Event) => Delivery,
): Promise<(left: ReadonlySet<string>) => Part<Position>> {
  const found =
    from === undefined
      ? []
      : (await read(limit + 1, from === 'first' ? undefined : from)).map((event) => ({
          row: toRow(event),
          position: event.position,
        }))
  return (left) => {
    const shown = found.filter(({ row }) => !left.has(row.id))
    const after = (taken: number): From<Position> => {
      if (taken === shown.length) return found.length > limit ? found.at(-1)?.position : undefined
      return taken === 0 ? from : shown[taken - 1]?.position
    }
    return { rows: shown.map(({ row }) => row), after }
  }
}

export function createListPage({ database, deliveries, pausedDestinations, isPaused }: ListPageDependencies): ListPage {
  const queuedPage = async (filter: DeliveryFilter, limit: number, before?: string): Promise<Page<Delivery>> => {
    const events = await listQueued(database, filter, limit + 1, before)
    const shown = events.slice(0, limit)
    const last = events.length > limit ? shown.at(-1) : undefined
    return {
      items: shown.map(queuedRow),
      nextCursor: last === undefined ? null : cursors.encode({ before: last.seq }),
    }
  }
  const carriedPart = (filter: DeliveryFilter, limit: number, from: From<CarriedPosition>) =>
    readPart(
      from,
      limit,
      (most, after) => listCarried(database, { ...filter, paused: pausedDestinations() }, most, after),
      (event) => carriedRow(event, isPaused),
    )
  const endedPart = (filter: DeliveryFilter, limit: number, from: From<EndedPosition>) =>
    readPart(
      from,
      limit,
      (most, after) => listEndedInInbox(database, filter, most, after),
      (event) => queuedRow(event),
    )

  const behindPage = async (
    filter: DeliveryFilter,
    limit: number,
    { tokens, carried, ended }: BehindPosition,
  ): Promise<Page<Delivery>> => {
    const [started, partOfParcels, partOfInbox] = await Promise.all([
      tokens === undefined ? { items: [], next: undefined } : deliveries.list(filter, limit, tokens),
      carriedPart(filter, limit, carried),
      endedPart(filter, limit, ended),
    ])
    // One that just left its parcel, or was cancelled in the inbox although its delivery had begun, is in two lists.
    const own = new Set(started.items.map(({ id }) => id))
    const [inParcels, inInbox] = [partOfParcels(own), partOfInbox(own)]
    const { items, taken } = mergeNewestFirst([started.items, inParcels.rows, inInbox.rows], limit)
    const [ofStarted = 0, ofParcels = 0, ofInbox = 0] = taken
    const tokensAfter = async (): Promise<ListPosition | undefined> => {
      if (ofStarted === started.items.length) return started.next
      return ofStarted === 0 ? tokens : (await deliveries.list(filter, ofStarted, tokens)).next
    }
    const position = {
      tokens: await tokensAfter(),
      carried: inParcels.after(ofParcels),
      ended: inInbox.after(ofInbox),
    }
    const isEnd = Object.values(position).every((from) => from === undefined)
    return { items, nextCursor: isEnd ? null : cursors.encode(toCursor(position)) }
  }

  /** The first page behind what waits. While Temporal is away, a message that the database knows is shown without what Temporal knows of it.
   *  @param isFound  whether it waits in the inbox */
  const firstBehind = async (
    filter: DeliveryFilter,
    limit: number,
    isFound: boolean,
    whilePresent: WhilePresent,
  ): Promise<Page<Delivery>> => {
    try {
      return await whilePresent(() => behindPage(filter, limit, beginning))
    } catch (error) {
      if (!(error instanceof PartAwayError) || filter.messageId === undefined) throw error
      const { items } = await behindPage(filter, limit, { ...beginning, tokens: undefined })
      if (!isFound && items.length === 0) throw error
      return { items, nextCursor: null }
    }
  }

  return async (filter, { limit, cursor }, whilePresent) => {
    const position = cursor === undefined ? undefined : cursors.decode(cursor)
    if (position !== undefined && 'tokens' in position)
      return whilePresent(() => behindPage(filter, limit, fromCursor(position)))
    const queued = await queuedPage(filter, limit, position?.before)
    if (queued.nextCursor !== null || filter.status === 'queued' || queued.items.length === limit) {
      // A full last page of what waits: the first page of what is behind it follows.
      const more = queued.nextCursor === null && filter.status !== 'queued' ? cursors.encode(toCursor(beginning)) : null
      return { items: queued.items, nextCursor: queued.nextCursor ?? more }
    }
    const rest = await firstBehind(filter, limit - queued.items.length, queued.items.length > 0, whilePresent)
    return { items: [...queued.items, ...rest.items], nextCursor: rest.nextCursor }
  }
}

const toCursor = ({ tokens, carried, ended }: BehindPosition): Cursor => ({
  tokens: tokens?.map((token) => token && Buffer.from(token).toString('base64')) ?? null,
  carried: carried ?? null,
  ended: ended ?? null,
})

const fromCursor = ({ tokens, carried, ended }: Extract<Cursor, { tokens: unknown }>): BehindPosition => ({
  tokens: tokens?.map((token) => (token === null ? null : Buffer.from(token, 'base64'))),
  carried: carried ?? undefined,
  ended: ended ?? undefined,
})
