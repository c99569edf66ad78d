import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import { deliveryCountQuery } from '../../api/deliveries.ts'
import { Link } from '../../shared/link.tsx'

interface Props {
  filter: DeliveryFilter
  /** How often they are counted, in milliseconds. */
  refreshMs: number
}

/** Beside those under way of one status: what waits before its first attempt has a status of its own. */
export function InInbox({ filter, refreshMs }: Props) {
  const queued = { ...filter, status: 'queued' } as const
  const { count = 0 } = useQuery({ ...deliveryCountQuery(queued), refetchInterval: refreshMs }).data ?? {}
  if (count === 0) return null
  return (
    <Text size="sm" mb="sm">
      These have started.{' '}
      <Link to="/deliveries" search={queued}>
        {count === 1 ? '1 more waits' : `${count.toLocaleString()} more wait`} in the inbox
      </Link>{' '}
      for {count === 1 ? 'its' : 'their'} first attempt.
    </Text>
  )
}
