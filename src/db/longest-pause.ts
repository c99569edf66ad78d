import type { Queryable } from './database.ts'

/** For how long the destination that was paused the longest has been paused in all, in milliseconds. */
export async function longestPauseMs(database: Queryable): Promise<number> {
  const [row] = await database.query<{ ms: string | null }>(
    `select max(paused_total_ms + coalesce(extract(epoch from clock_timestamp() - paused_at) * 1000, 0))::bigint as ms
     from destinations`,
  )
  return Number(row?.ms ?? 0)
}
