import { Group, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { DeliveryDestination, DeliveryDetail, DeliveryEndpoint } from '../../../../src/schemas/delivery.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { Link } from '../../shared/link.tsx'
import { StatusBadge } from './status-badge.tsx'

/** What the delivery has come to at each of its destinations, endpoint by endpoint. */
export function DestinationResults({ delivery }: { delivery: DeliveryDetail }) {
  const destinations = useQuery(destinationsQuery).data ?? []
  return (
    <Stack gap="md">
      {delivery.destinations.map((result) => (
        <DestinationResult
          key={result.destinationId}
          result={result}
          name={destinations.find(({ id }) => id === result.destinationId)?.name ?? result.destinationId}
        />
      ))}
    </Stack>
  )
}

const DestinationResult = ({ result: { destinationId, status, endpoints }, name }: ResultProps) => (
  <div role="group" aria-label={`Result of ${name}`}>
    <Group gap="xs" mb={4}>
      <Link to="/destinations/$id" params={{ id: destinationId }} fw={600} style={{ overflowWrap: 'anywhere' }}>
        {name}
      </Link>
      <StatusBadge status={status} />
    </Group>
    <Table verticalSpacing={4} withRowBorders={false} layout="fixed">
      <Table.Tbody>
        {endpoints.map((endpoint) => (
          <EndpointRow key={endpoint.endpointId} endpoint={endpoint} />
        ))}
      </Table.Tbody>
    </Table>
  </div>
)

interface ResultProps {
  result: DeliveryDestination
  name: string
}

const EndpointRow = ({ endpoint: { endpointId, url, status, attempts, reason } }: { endpoint: DeliveryEndpoint }) => (
  <Table.Tr>
    <Table.Td style={{ overflowWrap: 'anywhere' }}>
      <Text size="sm">{url ?? endpointId}</Text>
      {reason !== null && (
        <Text size="xs" c="dimmed">
          {reason}
        </Text>
      )}
    </Table.Td>
    <Table.Td w={160} style={{ verticalAlign: 'top' }}>
      <StatusBadge status={status} />
    </Table.Td>
    <Table.Td w={110} ta="right" style={{ verticalAlign: 'top' }}>
      <Text size="sm">
        {attempts} {attempts === 1 ? 'attempt' : 'attempts'}
      </Text>
    </Table.Td>
  </Table.Tr>
)
