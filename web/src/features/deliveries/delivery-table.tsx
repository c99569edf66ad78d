import { Checkbox, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Delivery } from '../../../../src/schemas/delivery.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { useEndpointUrls } from '../../shared/endpoint-urls.ts'
import { Link } from '../../shared/link.tsx'
import { readableReason } from '../../shared/readable-reason.ts'
import { Ago, Countdown } from '../../shared/time.tsx'
import { RedeliveryBadge } from './redelivery.tsx'
import { StatusBadge } from './status-badge.tsx'

interface Props {
  deliveries: Delivery[]
  /** Absent: rows cannot be chosen. */
  selection?: { selected: ReadonlySet<string>; onChange: (selected: ReadonlySet<string>) => void }
}

export function DeliveryTable({ deliveries, selection }: Props) {
  const sources = useQuery(sourcesQuery).data ?? []
  const destinations = useQuery(destinationsQuery).data ?? []
  const nameOf = (wanted: string): string => destinations.find(({ id }) => id === wanted)?.name ?? wanted
  const withUrls = useEndpointUrls()
  const chosen = deliveries.filter(({ id }) => selection?.selected.has(id)).length
  return (
    <Table verticalSpacing="xs" highlightOnHover>
      <Table.Thead>
        <Table.Tr>
          {selection !== undefined && (
            <Table.Th w={36}>
              <Checkbox
                aria-label="Choose all that are shown"
                checked={chosen > 0 && chosen === deliveries.length}
                indeterminate={chosen > 0 && chosen < deliveries.length}
                onChange={({ currentTarget }) =>
                  selection.onChange(new Set(currentTarget.checked ? deliveries.map(({ id }) => id) : []))
                }
              />
            </Table.Th>
          )}
          <Table.Th>Event</Table.Th>
          <Table.Th w={130}>Status</Table.Th>
          <Table.Th visibleFrom="sm">User</Table.Th>
          <Table.Th visibleFrom="md">From and to</Table.Th>
          <Table.Th visibleFrom="md">Attempts</Table.Th>
          <Table.Th visibleFrom="lg">Message</Table.Th>
          <Table.Th visibleFrom="sm">Started</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {deliveries.map((delivery) => (
          <Row
            key={delivery.id}
            delivery={delivery}
            sourceName={sources.find(({ id }) => id === delivery.sourceId)?.name ?? delivery.sourceId}
            destinationNames={delivery.destinationIds.map(nameOf)}
            reason={delivery.reason === null ? null : readableReason(withUrls(delivery.reason))}
            {...(selection && { selection })}
          />
        ))}
      </Table.Tbody>
    </Table>
  )
}

interface RowProps extends Pick<Props, 'selection'> {
  delivery: Delivery
  sourceName: string
  destinationNames: string[]
  /** With URLs in the place of the ids of endpoints. */
  reason: string | null
}

function Row({ delivery, sourceName, destinationNames, reason, selection }: RowProps) {
  const { id, status, type, event, userId, messageId, startedAt, attempts, nextAttemptAt } = delivery
  const isChosen = selection?.selected.has(id) === true
  const toggle = (): void => {
    const next = new Set(selection?.selected)
    if (!next.delete(id)) next.add(id)
    selection?.onChange(next)
  }
  return (
    <Table.Tr {...(isChosen && { bg: 'var(--mantine-primary-color-light)' })}>
      {selection !== undefined && (
        <Table.Td>
          <Checkbox aria-label={`Choose ${event ?? type} ${messageId}`} checked={isChosen} onChange={toggle} />
        </Table.Td>
      )}
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <Link to="/deliveries/$id" params={{ id }} fw={600} dir="auto" lineClamp={3} title={event ?? type}>
          {event ?? type}
        </Link>
        <RedeliveryBadge id={id} />
        {event !== null && (
          <Text size="xs" c="dimmed">
            {type}
          </Text>
        )}
        <Text size="xs" c="dimmed" hiddenFrom="sm" dir="auto" lineClamp={2}>
          {userId ?? 'no user'}
        </Text>
        <Text size="xs" c="dimmed" hiddenFrom="lg" ff="monospace" lineClamp={2}>
          {messageId}
        </Text>
        <Text size="xs" c="dimmed" hiddenFrom="sm">
          <Ago at={startedAt} />
        </Text>
      </Table.Td>
      <Table.Td>
        <Stack gap={2} align="flex-start">
          <StatusBadge status={status} />
          {status === 'retrying' && nextAttemptAt !== null && (
            <Text size="xs" c="dimmed">
              next <Countdown to={nextAttemptAt} />
            </Text>
          )}
          {reason !== null && (
            <Text size="xs" c="dimmed" lineClamp={2} title={reason} style={{ overflowWrap: 'anywhere' }}>
              {reason}
            </Text>
          )}
        </Stack>
      </Table.Td>
      <Table.Td visibleFrom="sm" style={{ overflowWrap: 'anywhere' }} dir="auto">
        <Text size="sm" lineClamp={3} title={userId ?? ''}>
          {userId ?? '–'}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="md" style={{ overflowWrap: 'anywhere' }} dir="auto">
        <Text size="sm" lineClamp={2} title={sourceName}>
          {sourceName}
        </Text>
        <Text size="xs" c="dimmed" lineClamp={3}>
          to {destinationNames.join(', ')}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="md">{attempts ?? '–'}</Table.Td>
      <Table.Td visibleFrom="lg" ff="monospace" fz="xs" style={{ overflowWrap: 'anywhere' }}>
        {messageId}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Ago at={startedAt} />
      </Table.Td>
    </Table.Tr>
  )
}
