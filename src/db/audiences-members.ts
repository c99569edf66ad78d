/** Who is in an audience now, and which of its destinations know. */

import type { AudienceMember } from '../schemas/audience.ts'
import type { Queryable } from './database.ts'
import type { Page } from './page.ts'

export interface MemberQuery {
  /** How the user ids that are listed begin; empty: all. */
  search: string
  /** The user id that the page before ended with; empty at the first. */
  after: string
  limit: number
}

interface MemberRow {
  userId: string
  value: string | null
  traits: string | null
  acknowledgedBy: string[]
  handedOn: AudienceMember['handedOn']
}

/** A page of the membership that was taken over last, in order of the user ids' bytes.
 *  @returns the page, its `nextCursor` as the plain user id
 *  @param rowSet  id of that membership's rows; null before the first */
export async function listMembers(
  database: Queryable,
  audienceId: string,
  rowSet: string | null,
  { search, after, limit }: MemberQuery,
): Promise<Page<AudienceMember>> {
  const rows = await database.query<MemberRow>(
    `select r.user_id as "userId", r.value, r.traits,
       coalesce(known."acknowledgedBy", '[]') as "acknowledgedBy", coalesce(known."handedOn", '[]') as "handedOn"
     from audience_rows r cross join lateral (
       select json_agg(l.destination_id order by l.link) filter (where h.link is null) as "acknowledgedBy",
         json_agg(json_build_object('destinationId', l.destination_id, 'deliveryId', h.workflow_id) order by l.link)
           filter (where h.link is not null) as "handedOn"
       from audience_links l join audience_acknowledged k on k.link = l.link and k.user_id = r.user_id
         left join audience_handed_on h on h.link = l.link and h.user_id = r.user_id
       where l.audience_id = $1 and l.connected and l.destination_id is not null
         and k.value is not distinct from r.value) known
     where r.load = $2::bigint and r.present and r.user_id > $3 and r.user_id >= $4 and starts_with(r.user_id, $4)
     order by r.user_id limit $5`,
    [audienceId, rowSet, after, search, limit + 1],
  )
  const shown = rows.slice(0, limit)
  return { items: shown.map(toMember), nextCursor: rows.length > limit ? (shown.at(-1)?.userId ?? null) : null }
}

const toMember = ({ userId, value, traits, acknowledgedBy, handedOn }: MemberRow): AudienceMember => ({
  userId,
  value: value === null ? null : (JSON.parse(value) as unknown),
  traits: traits === null ? null : (JSON.parse(traits) as Record<string, unknown>),
  acknowledgedBy,
  handedOn,
})
