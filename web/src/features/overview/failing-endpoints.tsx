import { Group, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react'
import type { Overview } from '../../../../src/schemas/overview.ts'
import { Link } from '../../shared/link.tsx'
import { Ago } from '../../shared/time.tsx'

/** Endpoints whose latest attempt failed, and why. */
export function FailingEndpoints({ endpoints }: { endpoints: Overview['failingEndpoints'] }) {
  if (endpoints.length === 0)
    return (
      <Group gap="xs">
        <IconCircleCheck size={18} color="var(--mantine-color-teal-7)" aria-hidden />
        <Text size="sm">None: the latest attempt at every endpoint succeeded.</Text>
      </Group>
    )
  return (
    <Stack gap="sm">
      {endpoints.map(({ endpointId, destinationId, url, reason, since }) => (
        <Group key={endpointId} gap="sm" align="flex-start" wrap="nowrap">
          <IconAlertTriangle size={18} color="var(--mantine-color-red-7)" aria-hidden style={{ flexShrink: 0 }} />
          <div style={{ overflowWrap: 'anywhere' }}>
            <Link to="/destinations/$id" params={{ id: destinationId }} fw={600}>
              {url}
            </Link>
            <Text size="sm">{reason}</Text>
            <Text size="sm" c="dimmed">
              First failure: <Ago at={since} />
            </Text>
            <Link size="sm" to="/deliveries" search={{ destinationId, status: 'retrying' }}>
              Deliveries that are retried
            </Link>
          </div>
        </Group>
      ))}
    </Stack>
  )
}
