import { Badge } from '@mantine/core'
import { IconHeartbeat, IconPlayerPause, IconPlayerPlay, IconPower } from '@tabler/icons-react'
import type { Destination } from '../../../src/schemas/destination.ts'

/** Whether a destination sends, waits or is off. */
export function DestinationState({ destination: { enabled, paused, held } }: { destination: Destination }) {
  if (!enabled)
    return (
      <Badge variant="default" leftSection={<IconPower size={12} aria-hidden />}>
        Off
      </Badge>
    )
  if (held !== null)
    return (
      <Badge color="orange" variant="light" leftSection={<IconHeartbeat size={12} aria-hidden />}>
        Held
      </Badge>
    )
  if (paused)
    return (
      <Badge color="yellow" variant="light" leftSection={<IconPlayerPause size={12} aria-hidden />}>
        Paused
      </Badge>
    )
  return (
    <Badge color="teal" variant="light" leftSection={<IconPlayerPlay size={12} aria-hidden />}>
      On
    </Badge>
  )
}
