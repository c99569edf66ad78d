import { Badge, Text } from '@mantine/core'
import { Link } from '../../shared/link.tsx'

/** How the id of a redelivery ends; before it stands the id of what it repeats. */
const ending = /\/redelivery\/(\d+)$/

export const isRedelivery = (id: string): boolean => ending.test(id)

/** Tells a redelivery from the delivery that it repeats; nothing for one that repeats none. */
export function RedeliveryBadge({ id }: { id: string }) {
  const number = ending.exec(id)?.[1]
  return number === undefined ? null : (
    <Badge color="indigo" variant="outline">
      Redelivery {number}
    </Badge>
  )
}

/** Leads to the delivery that this one repeats, and to all that have the same message. */
export function RelatedDeliveries({ id, messageId }: { id: string; messageId: string }) {
  const original = id.replace(ending, '')
  return (
    <Text size="sm">
      {original !== id && (
        <Link to="/deliveries/$id" params={{ id: original }} mr="sm">
          The first delivery
        </Link>
      )}
      <Link to="/deliveries" search={{ messageId }}>
        All deliveries of this message
      </Link>
    </Text>
  )
}
