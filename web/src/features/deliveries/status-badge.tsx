import { Badge } from '@mantine/core'
import {
  IconBan,
  IconCheck,
  IconCircleMinus,
  IconClockPause,
  IconInbox,
  IconProgressCheck,
  IconRefresh,
  IconSend,
  IconTrash,
  IconX,
} from '@tabler/icons-react'
import type { DeliveryStatus, EndpointStatus } from '../../../../src/schemas/delivery.ts'

export const statusLooks: Record<DeliveryStatus, { label: string; color: string; Icon: typeof IconX }> = {
  queued: { label: 'Queued', color: 'gray', Icon: IconInbox },
  delivering: { label: 'Delivering', color: 'blue', Icon: IconSend },
  retrying: { label: 'Retrying', color: 'yellow', Icon: IconRefresh },
  held: { label: 'Held', color: 'grape', Icon: IconClockPause },
  delivered: { label: 'Delivered', color: 'teal', Icon: IconCheck },
  partly_delivered: { label: 'Partly delivered', color: 'orange', Icon: IconProgressCheck },
  failed: { label: 'Failed', color: 'red', Icon: IconX },
  discarded: { label: 'Discarded', color: 'gray', Icon: IconTrash },
  cancelled: { label: 'Cancelled', color: 'gray', Icon: IconBan },
}

/** Another endpoint of its destination took the event, and one is enough. */
const superseded = { label: 'Not needed', color: 'gray', Icon: IconCircleMinus }

export function StatusBadge({ status }: { status: DeliveryStatus | EndpointStatus }) {
  const { label, color, Icon } = status === 'superseded' ? superseded : statusLooks[status]
  return (
    <Badge color={color} variant="light" leftSection={<Icon size={12} aria-hidden />}>
      {label}
    </Badge>
  )
}
