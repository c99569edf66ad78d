/** The bounded rate of calls to a destination: every sender, on any node, books the time of its calls. */

import type { Queryable } from './database.ts'

/** Books the time of some calls, after all that was booked before.
 *  @returns milliseconds until the first of them may be made */
export async function bookCalls(
  database: Queryable,
  destinationId: string,
  calls: number,
  perSecond: number,
): Promise<number> {
  const [row] = await database.query<{ seconds: number }>(
    `insert into destination_paces as p (destination_id, free_at) values ($1, now() + $2 * interval '1 second')
     on conflict (destination_id) do update set free_at = greatest(p.free_at, now()) + $2 * interval '1 second'
     returning extract(epoch from free_at - now())::float8 - $2 as seconds`,
    [destinationId, calls / perSecond],
  )
  return Math.max(0, (row?.seconds ?? 0) * 1000)
}
