/** What deliveries come from: a source, or an audience that tells destinations of its members. */

import { useQuery } from '@tanstack/react-query'
import { audiencesQuery } from '../../api/audiences.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { Fact } from '../../shared/facts.tsx'
import { Link } from '../../shared/link.tsx'

const isAudience = (id: string): boolean => id.startsWith('aud_')

/** @param ids  those that are asked for
 *  @returns tells a name; the id of one that is deleted */
export function useOriginNames(ids: readonly string[]): (id: string) => string {
  const sources = useQuery(sourcesQuery).data ?? []
  const audiences = useQuery({ ...audiencesQuery, enabled: ids.some(isAudience) }).data ?? []
  return (wanted) => [...sources, ...audiences].find(({ id }) => id === wanted)?.name ?? wanted
}

/** Leads to it. */
export function OriginFact({ id }: { id: string }) {
  const name = useOriginNames([id])(id)
  if (isAudience(id))
    return (
      <Fact name="Audience">
        <Link to="/audiences/$id" params={{ id }}>
          {name}
        </Link>
      </Fact>
    )
  return (
    <Fact name="Source">
      <Link to="/sources/$id" params={{ id }}>
        {name}
      </Link>
    </Fact>
  )
}
