import { Badge } from '@mantine/core'
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconPlugConnectedX,
  type Icon,
} from '@tabler/icons-react'
import type { EndpointState } from '../../../../src/schemas/destination.ts'

const looks: Record<EndpointState['state'], { label: string; color: string; icon: Icon }> = {
  down: { label: 'Down', color: 'red', icon: IconPlugConnectedX },
  failing: { label: 'Failing', color: 'orange', icon: IconAlertTriangle },
  untried: { label: 'No delivery yet', color: 'gray', icon: IconCircleDashed },
  working: { label: 'Working', color: 'teal', icon: IconCircleCheck },
}

/** How an endpoint does. */
export function EndpointBadge({ state }: Pick<EndpointState, 'state'>) {
  const { label, color, icon: Icon } = looks[state]
  return (
    <Badge color={color} variant="light" leftSection={<Icon size={12} aria-hidden />} style={{ flexShrink: 0 }}>
      {label}
    </Badge>
  )
}

/** The worst state among the endpoints of a destination. */
export function WorstBadge({ endpoints }: { endpoints: readonly EndpointState[] }) {
  const worst = (['down', 'failing', 'untried', 'working'] as const).find((state) =>
    endpoints.some((endpoint) => endpoint.state === state),
  )
  return worst === undefined ? null : <EndpointBadge state={worst} />
}
