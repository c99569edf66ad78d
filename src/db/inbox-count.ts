/** How many events of the inbox match a filter, at a cost that does not grow with the inbox. */

import type { DeliveryFilter } from '../schemas/delivery.ts'
import type { Database, Queryable } from './database.ts'
import { filterValues, matchesFilter } from './inbox.ts'

/** Most events that are counted one by one. */
const maxLookedAt = 10_000

/** Pages of the table that an estimate looks at where there are more events; always the same ones, so that a count that is asked for
 *  again moves with the inbox alone. */
const pagesLookedAt = 1_000

/** Events that wait, and those that were refused or cancelled: each has an index that tells the first ones at once. */
interface Part {
  condition: string
  /** SQL of the first events of the part; a filter for a source belongs to it. */
  first: string
}

/** Settings of the planner that let it read and sort all events, where following an index would give them in order. */
const ordersByReadingAll = ['enable_seqscan', 'enable_bitmapscan', 'enable_sort']

const oneSource = '($2::text is null or source_id = $2)'

const waiting: Part = {
  condition: 'settled_at is null',
  first: `select * from inbox where settled_at is null and ${oneSource} order by seq limit ${maxLookedAt + 1}`,
}
const settled: Part = {
  condition: 'settled_at is not null',
  first: `select * from inbox where settled_at is not null order by settled_at desc limit ${maxLookedAt + 1}`,
}

/** Counts events of the inbox. The count is exact for up to 10,000 events that wait and up to 10,000 that were refused or cancelled,
 *  and for one message or user; otherwise it is an estimate from always the same pages of the table. */
export async function countQueued(database: Database, filter: DeliveryFilter): Promise<number> {
  if (filter.messageId !== undefined || filter.userId !== undefined) return countAll(database, filter)
  const counts = await Promise.all(partsOf(filter).map((part) => countPart(database, filter, part)))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** An event that was cancelled waits until it is known that no delivery of it has begun. */
function partsOf({ status }: DeliveryFilter): Part[] {
  if (status === undefined || status === 'cancelled') return [waiting, settled]
  return status === 'queued' ? [waiting] : status === 'failed' ? [settled] : []
}

async function countAll(database: Queryable, filter: DeliveryFilter): Promise<number> {
  const [row] = await database.query<{ matching: string }>(
    `select count(*) as matching from inbox where ${matchesFilter}`,
    filterValues(filter),
  )
  return Number(row?.matching)
}

async function countPart(database: Database, filter: DeliveryFilter, part: Part): Promise<number> {
  const [row] = await database.transaction(async (tx) => {
    // A table that has just grown is one of a few rows to the planner, which then reads and sorts all of it.
    await tx.query(`select set_config(name, 'off', true) from unnest($1::text[]) as name`, [ordersByReadingAll])
    return tx.query<{ matching: string; looked_at: string }>(
      `select count(*) filter (where ${matchesFilter}) as matching, count(*) as looked_at from (${part.first}) as looked_at`,
      filterValues(filter),
    )
  })
  const matching = Number(row?.matching)
  return Number(row?.looked_at) <= maxLookedAt ? matching : Math.max(matching, await estimate(database, filter, part))
}

async function estimate(database: Queryable, filter: DeliveryFilter, { condition }: Part): Promise<number> {
  const share = `least(1, ${pagesLookedAt} * current_setting('block_size')::real / pg_relation_size('inbox'))`
  const [row] = await database.query<{ matching: string; share: number }>(
    `select count(*) filter (where ${matchesFilter}) as matching, (select ${share}) as share
     from inbox tablesample system (100 * ${share}) repeatable (0) where ${condition}`,
    filterValues(filter),
  )
  return row === undefined ? 0 : Math.round(Number(row.matching) / row.share)
}

/** How many of the oldest events of the inbox are looked at for those of some destinations. */
const maxOldest = 10_000

/** The age of the event that waits longest in the inbox, in seconds; 0 when none waits. */
export async function oldestInInboxSeconds(database: Queryable): Promise<number> {
  const [row] = await database.query<{ seconds: number }>(
    `select extract(epoch from now() - received_at)::float8 as seconds from inbox
     where settled_at is null order by seq limit 1`,
  )
  return Math.max(0, row?.seconds ?? 0)
}

/** How many of the 10,000 oldest events of the inbox go to these destinations alone. */
export async function countOldestFor(database: Queryable, destinationIds: readonly string[]): Promise<number> {
  if (destinationIds.length === 0) return 0
  const [row] = await database.query<{ events: string }>(
    `select count(*) filter (where destination_ids <@ $1::text[]) as events
     from (select destination_ids from inbox where settled_at is null order by seq limit ${maxOldest}) as oldest`,
    [[...destinationIds]],
  )
  return Number(row?.events ?? 0)
}
