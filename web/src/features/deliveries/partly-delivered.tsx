import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import { deliveryCountQuery } from '../../api/deliveries.ts'
import { Link } from '../../shared/link.tsx'

/** Beside those that failed everywhere: what failed at some destinations only has a status of its own. */
export function PartlyDelivered({ filter }: { filter: DeliveryFilter }) {
  const partly = { ...filter, status: 'partly_delivered' } as const
  const { count = 0 } = useQuery(deliveryCountQuery(partly)).data ?? {}
  if (count === 0) return null
  return (
    <Text size="sm" mb="sm">
      These failed at every destination.{' '}
      <Link to="/deliveries" search={partly}>
        {count === 1 ? '1 more was' : `${count.toLocaleString()} more were`} taken by some destinations only
      </Link>
      .
    </Text>
  )
}
