import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import { deliveryCountQuery } from '../../api/deliveries.ts'
import { Link } from '../../shared/link.tsx'

interface Props {
  filter: DeliveryFilter
  /** Whether some that have started are on show. */
  isBesideSome: boolean
  /** How often they are counted, in milliseconds. */
  refreshMs: number
}

/** Beside those under way of one status: what waits before its first attempt has a status of its own. */
export function InInbox({ filter, isBesideSome, refreshMs }: Props) {
  const queued = { ...filter, status: 'queued' } as const
  const { count = 0 } = useQuery({ ...deliveryCountQuery(queued), refetchInterval: refreshMs }).data ?? {}
  if (count === 0) return null
  return (
    <Text size="sm" mb="sm">
      {isBesideSome && 'These have started. '}
      <Link to="/deliveries" search={queued}>
        {count.toLocaleString()} {isBesideSome && 'more '}
        {count === 1 ? 'waits' : 'wait'} in the inbox
      </Link>{' '}
      for {count === 1 ? 'its' : 'their'} first attempt.
    </Text>
  )
}
