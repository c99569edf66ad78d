/** What sources, destinations and audiences are called, also those that are deleted. */

import { useQuery } from '@tanstack/react-query'
import { audiencesQuery } from '../api/audiences.ts'
import { destinationsQuery } from '../api/destinations.ts'
import { sourcesQuery } from '../api/sources.ts'
import { deletedNamesQuery } from '../api/system.ts'

export interface Named {
  name: string
  /** It has no page any more. */
  isDeleted: boolean
}

/** @param ids  those that are shown
 *  @returns tells the name of one of them; its id, as long as none is known */
export function useNames(ids: readonly string[]): (id: string) => Named {
  const isAny = (prefix: string): boolean => ids.some((id) => id.startsWith(prefix))
  const { data: sources } = useQuery({ ...sourcesQuery, enabled: isAny('src_') })
  const { data: destinations } = useQuery({ ...destinationsQuery, enabled: isAny('dst_') })
  const { data: audiences } = useQuery({ ...audiencesQuery, enabled: isAny('aud_') })
  const present = [sources, destinations, audiences].flatMap((things): { id: string; name: string }[] => things ?? [])
  const isRead = (id: string): boolean =>
    (id.startsWith('src_') ? sources : id.startsWith('dst_') ? destinations : audiences) !== undefined
  const gone = ids.filter((id) => isRead(id) && !present.some((thing) => thing.id === id))
  const { data: deleted } = useQuery(deletedNamesQuery(gone))
  return (wanted) => {
    const found = present.find(({ id }) => id === wanted)
    if (found !== undefined) return { name: found.name, isDeleted: false }
    const name = deleted?.find(({ id }) => id === wanted)?.name
    return name === undefined ? { name: wanted, isDeleted: false } : { name: `${name} (deleted)`, isDeleted: true }
  }
}
