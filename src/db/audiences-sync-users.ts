/** Whom a sync told what, and what became of it: as long as its changes are kept. */

import { z } from 'zod'
import type { SyncUser, SyncUserOutcome } from '../schemas/audience.ts'
import type { Queryable } from './database.ts'
import { jsonCursors, type Page, type PageRequest } from './page.ts'

export interface SyncUsersQuery extends PageRequest {
  /** How the user ids that are listed begin; empty: all. */
  search: string
  outcome?: SyncUserOutcome | undefined
}

/** Outcomes by the number that the table has for them. */
const outcomes = ['open', 'sent', 'handed_on', 'failed', 'withheld'] as const satisfies SyncUserOutcome[]

/** The last row of a page: each user is told at each destination. */
const cursors = jsonCursors(z.tuple([z.string(), z.int()]))

interface Row extends Pick<SyncUser, 'userId' | 'change'> {
  link: number
  destinationId: string | null
  value: string | null
  state: number
}

/** A page of the changes of a sync, in order of the user ids' bytes.
 *  @param sync  number of the sync
 *  @throws AppError bad_request when the cursor is not one of this list */
export async function listSyncUsers(
  database: Queryable,
  audienceId: string,
  sync: string,
  { search, outcome, cursor, limit }: SyncUsersQuery,
): Promise<Page<Omit<SyncUser, 'deliveryId'>>> {
  const [afterUser, afterLink] = cursor === undefined ? ['', 0] : cursors.decode(cursor)
  // Each destination by its own index: as many rows as the page has are read of each.
  const rows = await database.query<Row>(
    `select c.user_id as "userId", l.link, l.destination_id as "destinationId", c.state,
       case when c.present then c.value end as value,
       case when c.present and not c.was_present then 'added' when c.was_present and not c.present then 'removed'
         when c.value is distinct from c.previous then 'changed' else 'repeated' end as change
     from audience_links l cross join lateral (
       select * from audience_changes
       where sync = $2 and link = l.link and user_id >= $3 and (user_id > $3 or l.link > $4)
         and user_id >= $5 and starts_with(user_id, $5) and ($6::smallint is null or state = $6)
       order by user_id limit $7) c
     where l.audience_id = $1
     order by c.user_id, l.link limit $7`,
    [
      audienceId,
      sync,
      afterUser,
      afterLink,
      search,
      outcome === undefined ? null : outcomes.indexOf(outcome),
      limit + 1,
    ],
  )
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    items: shown.map(({ userId, destinationId, change, value, state }) => ({
      userId,
      destinationId,
      change,
      value: value === null ? null : (JSON.parse(value) as unknown),
      outcome: outcomes[state] ?? 'open',
    })),
    nextCursor: last === undefined ? null : cursors.encode([last.userId, last.link]),
  }
}
