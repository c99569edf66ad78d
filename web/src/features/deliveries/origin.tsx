/** What a delivery comes from: a source, or an audience that tells destinations of its members. */

import { Fact } from '../../shared/facts.tsx'
import { Link } from '../../shared/link.tsx'
import { useNames } from '../../shared/names.ts'

/** Leads to it. */
export function OriginFact({ id }: { id: string }) {
  const { name, isDeleted } = useNames([id])(id)
  const isAudience = id.startsWith('aud_')
  return (
    <Fact name={isAudience ? 'Audience' : 'Source'}>
      {isDeleted ? (
        name
      ) : (
        <Link to={isAudience ? '/audiences/$id' : '/sources/$id'} params={{ id }} dir="auto">
          {name}
        </Link>
      )}
    </Fact>
  )
}
