import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import { deliveryCountQuery } from '../../api/deliveries.ts'
import { Link } from '../../shared/link.tsx'

interface Props {
  filter: DeliveryFilter
  /** Whether some that failed everywhere are on show. */
  isBesideSome: boolean
}

/** Beside those that failed everywhere: what failed at some destinations only has a status of its own. */
export function PartlyDelivered({ filter, isBesideSome }: Props) {
  const partly = { ...filter, status: 'partly_delivered' } as const
  const { count = 0 } = useQuery(deliveryCountQuery(partly)).data ?? {}
  if (count === 0) return null
  return (
    <Text size="sm" mb="sm">
      {isBesideSome && 'No destination took these. '}
      <Link to="/deliveries" search={partly}>
        {count.toLocaleString()} {isBesideSome && 'more '}
        {count === 1 ? 'was' : 'were'} taken by some destinations only
      </Link>
      .
    </Text>
  )
}
