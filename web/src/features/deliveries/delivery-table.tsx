import { Checkbox, Stack, Table, Text } from '@mantine/core'
import { memo, useCallback, useDeferredValue, type Dispatch, type SetStateAction } from 'react'
import type { Delivery } from '../../../../src/schemas/delivery.ts'
import { useEndpointUrls } from '../../shared/endpoint-urls.ts'
import { Link } from '../../shared/link.tsx'
import { useNames } from '../../shared/names.ts'
import { readableReason } from '../../shared/readable-reason.ts'
import { textColumn } from '../../shared/text-column.ts'
import { Ago, Countdown } from '../../shared/time.tsx'
import { visibleName } from '../../shared/visible-name.ts'
import { RedeliveryBadge } from './redelivery.tsx'
import { StatusBadge } from './status-badge.tsx'

/** Rows that are drawn at once, about as many as a window shows; the others follow when they stand. */
const firstRows = 15

interface Props {
  deliveries: Delivery[]
  /** Absent: rows cannot be chosen. */
  selection?: { selected: ReadonlySet<string>; onChange: Dispatch<SetStateAction<ReadonlySet<string>>> }
}

export function DeliveryTable({ deliveries, selection }: Props) {
  const named = useNames(deliveries.flatMap(({ sourceId, destinationIds }) => [sourceId, ...destinationIds]))
  const nameOf = (id: string): string => named(id).name
  const withUrls = useEndpointUrls()
  const rows = useDeferredValue(deliveries, deliveries.slice(0, firstRows))
  const change = selection?.onChange
  const choose = useCallback(
    (id: string) =>
      change?.((before) => {
        const next = new Set(before)
        if (!next.delete(id)) next.add(id)
        return next
      }),
    [change],
  )
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
          <Table.Th {...textColumn}>Event</Table.Th>
          <Table.Th miw={150}>Status</Table.Th>
          <Table.Th visibleFrom="sm" {...textColumn}>
            User
          </Table.Th>
          <Table.Th visibleFrom="md" {...textColumn}>
            From and to
          </Table.Th>
          <Table.Th visibleFrom="lg">Attempts</Table.Th>
          <Table.Th visibleFrom="lg" {...textColumn}>
            Message
          </Table.Th>
          <Table.Th visibleFrom="sm">Started</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((delivery) => (
          <Row
            key={delivery.id}
            delivery={delivery}
            sourceName={nameOf(delivery.sourceId)}
            destinationNames={delivery.destinationIds.map(nameOf).join(', ')}
            reason={delivery.reason === null ? null : readableReason(withUrls(delivery.reason))}
            {...(selection && { isChosen: selection.selected.has(delivery.id), onChoose: choose })}
          />
        ))}
      </Table.Tbody>
    </Table>
  )
}

interface RowProps {
  delivery: Delivery
  sourceName: string
  destinationNames: string
  /** With URLs in the place of the ids of endpoints. */
  reason: string | null
  isChosen?: boolean
  /** Chooses it, or no longer. Absent: it cannot be chosen. */
  onChoose?: (id: string) => void
}

/** Drawn again only when it changed: the list is read again every few seconds. */
const Row = memo(function Row(props: RowProps) {
  const { delivery, sourceName, destinationNames, reason, isChosen = false, onChoose } = props
  const { id, status, type, userId, erased, messageId, startedAt, attempts, nextAttemptAt } = delivery
  const event = visibleName(delivery.event)
  return (
    <Table.Tr {...(isChosen && { bg: 'var(--mantine-primary-color-light)' })}>
      {onChoose !== undefined && (
        <Table.Td>
          <Checkbox
            aria-label={`Choose ${event ?? type} ${messageId}`}
            checked={isChosen}
            onChange={() => onChoose(id)}
          />
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
          {userId ?? (erased ? 'user erased' : 'no user')}
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
          {attempts !== null && (
            <Text size="xs" c="dimmed" hiddenFrom="lg">
              {attempts.toLocaleString()} {attempts === 1 ? 'attempt' : 'attempts'}
            </Text>
          )}
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
          {userId ?? (erased ? 'erased' : '–')}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="md" style={{ overflowWrap: 'anywhere' }}>
        <Text size="sm" lineClamp={2} title={sourceName} dir="auto">
          {sourceName}
        </Text>
        <Text size="xs" c="dimmed" lineClamp={3} title={destinationNames}>
          to <bdi>{destinationNames}</bdi>
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="lg">{attempts ?? '–'}</Table.Td>
      <Table.Td visibleFrom="lg" ff="monospace" fz="xs" style={{ overflowWrap: 'anywhere' }}>
        {messageId}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Ago at={startedAt} />
      </Table.Td>
    </Table.Tr>
  )
})
