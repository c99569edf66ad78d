/** Paging by cursor: the creation time and id of the last row that was shown. */

import type { z } from 'zod'
import { AppError } from '../errors.ts'
import { parseIsoTime } from '../schemas/iso-time.ts'

export interface PageRequest {
  limit: number
  cursor?: string | undefined
}

export interface Page<Item> {
  items: Item[]
  nextCursor: string | null
}

interface Position {
  created_at: string
  id: string
}

/** Where a page begins: before every row without a cursor.
 *  @throws AppError bad_request when the cursor is not one that a page gave */
export function startOfPage({ cursor }: PageRequest): Position {
  if (cursor === undefined) return { created_at: '-infinity', id: '' }
  const [createdAt = '', id = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ', 2)
  if (parseIsoTime(createdAt) === undefined || !/^\w+$/.test(id)) throw notOfThisList()
  return { created_at: createdAt, id }
}

/** Makes a page of rows read with one more than `limit`; each row carries its `position` for the cursor. */
export function pageOf<Row extends { position: string; id: string }, Item>(
  rows: Row[],
  { limit }: PageRequest,
  toItem: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  const nextCursor = last === undefined ? null : Buffer.from(`${last.position} ${last.id}`).toString('base64url')
  return { items: shown.map(toItem), nextCursor }
}

/** Cursors of a list whose position is more than a time and an id.
 *  @param schema  what a position is */
export const jsonCursors = <Position>(schema: z.ZodType<Position>) => ({
  encode: (position: Position): string => Buffer.from(JSON.stringify(position)).toString('base64url'),
  /** @throws AppError bad_request when the cursor is not one that `encode` made */
  decode(cursor: string): Position {
    try {
      return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')))
    } catch {
      throw notOfThisList()
    }
  },
})

/** What answers a cursor that another list, or nobody, made. */
export const notOfThisList = (): AppError =>
  new AppError('bad_request', 'cursor is not a cursor of this list', { path: 'cursor' })

/** SQL of a time as text, which keeps the microseconds that a Date loses. */
export const microsSql = (time: string): string =>
  `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** SQL expression of a row's cursor position. */
export const positionSql = `${microsSql('created_at')} as position`
