import { Group, Stack, Text } from '@mantine/core'
import type { DeliveryDestination, DeliveryDetail, DeliveryEndpoint } from '../../../../src/schemas/delivery.ts'
import { Link } from '../../shared/link.tsx'
import { useNames, type Named } from '../../shared/names.ts'
import { readableReason } from '../../shared/readable-reason.ts'
import { StatusBadge } from './status-badge.tsx'

/** What the delivery has come to at each of its destinations, endpoint by endpoint. */
export function DestinationResults({ delivery }: { delivery: DeliveryDetail }) {
  const named = useNames(delivery.destinations.map(({ destinationId }) => destinationId))
  return (
    <Stack gap="md">
      {delivery.destinations.map((result) => (
        <DestinationResult key={result.destinationId} result={result} {...named(result.destinationId)} />
      ))}
    </Stack>
  )
}

const DestinationResult = ({ result: { destinationId, status, endpoints }, name, isDeleted }: ResultProps) => (
  <div role="group" aria-label={`Result of ${name}`}>
    <Group gap="xs" mb={4}>
      {isDeleted ? (
        <Text fw={600} dir="auto" style={{ overflowWrap: 'anywhere' }}>
          {name}
        </Text>
      ) : (
        <Link
          to="/destinations/$id"
          params={{ id: destinationId }}
          fw={600}
          dir="auto"
          style={{ overflowWrap: 'anywhere' }}
        >
          {name}
        </Link>
      )}
      <StatusBadge status={status} />
    </Group>
    <Stack component="ul" gap={4} m={0} p={0} style={{ listStyle: 'none' }}>
      {endpoints.map((endpoint) => (
        <EndpointRow key={endpoint.endpointId} endpoint={endpoint} />
      ))}
    </Stack>
  </div>
)

interface ResultProps extends Named {
  result: DeliveryDestination
}

const EndpointRow = ({ endpoint: { url, status, attempts, reason } }: { endpoint: DeliveryEndpoint }) => (
  <Group component="li" gap="xs" align="flex-start" pl="sm">
    <div style={{ flex: '1 1 14rem', minWidth: 0, overflowWrap: 'anywhere' }}>
      <Text size="sm">{url ?? 'Deleted endpoint'}</Text>
      {reason !== null && (
        <Text size="xs" c="dimmed">
          {readableReason(reason)}
        </Text>
      )}
    </div>
    <Group gap="xs" w={240} justify="space-between">
      <StatusBadge status={status} />
      <Text size="sm">
        {attempts} {attempts === 1 ? 'attempt' : 'attempts'}
      </Text>
    </Group>
  </Group>
)
