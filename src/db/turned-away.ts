/** Events that became no delivery: the newest of each source, for a day. */

import { AppError } from '../errors.ts'
import { maxLiveText } from '../schemas/live-event.ts'
import type { TurnedAwayDetail, TurnedAwayEvent, TurnedAwayFilter } from '../schemas/turned-away.ts'
import type { Queryable } from './database.ts'
import { notOfThisList, type Page, type PageRequest } from './page.ts'

/** Events that are kept of one source, and of all together. */
export const keptPerSource = 10_000
const keptInAll = 100_000

interface Row extends Omit<TurnedAwayDetail, 'at'> {
  number: string
  at: Date
}

const columns = `number, id, at, source_id as "sourceId", fate, reason, message, type, event, user_id as "userId",
  message_id as "messageId"`

export async function addTurnedAway(database: Queryable, events: readonly TurnedAwayDetail[]): Promise<void> {
  const text = (member: keyof TurnedAwayDetail): (string | null)[] => events.map((event) => event[member])
  await database.query(
    `insert into turned_away (id, at, source_id, fate, reason, message, type, event, user_id, message_id, body)
     select * from unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
       $9::text[], $10::text[], $11::text[])`,
    [
      text('id'),
      text('at'),
      text('sourceId'),
      text('fate'),
      text('reason'),
      text('message'),
      text('type'),
      text('event'),
      text('userId'),
      text('messageId'),
      text('body'),
    ],
  )
}

/** Leaves the newest of a source, and of all. */
export async function removeSurplus(database: Queryable, sourceIds: readonly string[]): Promise<void> {
  for (const sourceId of sourceIds)
    await database.query(
      `delete from turned_away where source_id = $1 and number <= (
         select number from turned_away where source_id = $1 order by number desc offset $2 limit 1)`,
      [sourceId, keptPerSource],
    )
  await database.query(
    'delete from turned_away where number <= (select number from turned_away order by number desc offset $1 limit 1)',
    [keptInAll],
  )
}

export async function removeTurnedAwayBefore(database: Queryable, moment: Date): Promise<void> {
  await database.query('delete from turned_away where at < $1', [moment])
}

/** Newest first.
 *  @throws AppError bad_request when the cursor is not one that a page gave */
export async function listTurnedAway(
  database: Queryable,
  filter: TurnedAwayFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<TurnedAwayEvent>> {
  if (cursor !== undefined && !/^\d{1,18}$/.test(cursor)) throw notOfThisList()
  const rows = await database.query<Row>(
    `select ${columns} from turned_away
     where ($1::text is null or source_id = $1) and ($2::text is null or fate = $2) and ($3::text is null or reason = $3)
       and ($4::text is null or message_id = $4) and ($5::text is null or user_id = $5)
       and ($6::timestamptz is null or at >= $6) and ($7::timestamptz is null or at < $7)
       and ($8::bigint is null or number < $8)
       and ($9::text is null or source_id in (select source_id from destination_sources where destination_id = $9))
     order by number desc limit $10`,
    [
      filter.sourceId ?? null,
      filter.fate ?? null,
      filter.reason ?? null,
      filter.messageId?.slice(0, maxLiveText) ?? null,
      filter.userId?.slice(0, maxLiveText) ?? null,
      filter.since ?? null,
      filter.until ?? null,
      cursor ?? null,
      filter.destinationId ?? null,
      limit + 1,
    ],
  )
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { items: shown.map(toEvent), nextCursor: last?.number ?? null }
}

/** @throws AppError not_found */
export async function getTurnedAway(database: Queryable, id: string): Promise<TurnedAwayDetail> {
  const [row] = await database.query<Row>(`select ${columns}, body from turned_away where id = $1`, [id])
  if (row === undefined) throw new AppError('not_found', `no event that was turned away has the id ${id}`)
  return { ...toEvent(row), body: row.body }
}

const toEvent = ({ number: _number, at, ...event }: Row): TurnedAwayEvent => ({ ...event, at: at.toISOString() })
