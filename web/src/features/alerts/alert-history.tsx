import { Badge, Button, Group, Table, Text } from '@mantine/core'
import { IconBell } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { Alert } from '../../../../src/schemas/alert.ts'
import { alertsQuery, muteAlert } from '../../api/alerts.ts'
import { EmptyState } from '../../shared/empty-state.tsx'
import { Link } from '../../shared/link.tsx'
import { LoadMore } from '../../shared/load-more.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { readableReason } from '../../shared/readable-reason.ts'
import { Section } from '../../shared/section.tsx'
import { textColumn } from '../../shared/text-column.ts'
import { Ago, formatTime } from '../../shared/time.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { alertKinds } from './alert-kinds.ts'

/** For how long a mute is. */
const mutes = [
  { label: 'Mute for 1 h', seconds: 3_600 },
  { label: '24 h', seconds: 86_400 },
]

/** Open alerts and those that are over, newest first. */
export function AlertHistory() {
  const query = useInfiniteQuery(alertsQuery)
  const canChange = useCanChange()
  return (
    <Section title="History">
      <QueryView query={query}>
        {({ pages }) => {
          const alerts = pages.flatMap(({ items }) => items)
          return alerts.length === 0 ? (
            <EmptyState icon={<IconBell aria-hidden />} title="No alerts">
              What fails for long enough is listed here and sent to the channels below.
            </EmptyState>
          ) : (
            <>
              <Table.ScrollContainer minWidth={300}>
                <Table verticalSpacing="sm">
                  <Table.Thead>
                    <Table.Tr>
                      <Table.Th {...textColumn}>Alert</Table.Th>
                      {canChange && <Table.Th>Mute</Table.Th>}
                    </Table.Tr>
                  </Table.Thead>
                  <Table.Tbody>
                    {alerts.map((alert) => (
                      <AlertRow key={alert.id} alert={alert} canChange={canChange} />
                    ))}
                  </Table.Tbody>
                </Table>
              </Table.ScrollContainer>
              <LoadMore query={query} />
            </>
          )
        }}
      </QueryView>
    </Section>
  )
}

function AlertRow({ alert, canChange }: { alert: Alert; canChange: boolean }) {
  const { kind, name, reason, path } = alert
  const { pathname, searchParams } = new URL(path, window.location.origin)
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
          {alertKinds[kind]}:{' '}
          <Link to={pathname} search={Object.fromEntries(searchParams)} dir="auto">
            {name}
          </Link>
        </Text>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {readableReason(reason)}
        </Text>
        <AlertState alert={alert} />
      </Table.Td>
      {canChange && (
        <Table.Td>
          <Mute alert={alert} />
        </Table.Td>
      )}
    </Table.Tr>
  )
}

const AlertState = ({ alert: { openedAt, closedAt, closedReason, mutedUntil } }: { alert: Alert }) => (
  <Group gap="xs" mt={4}>
    {closedAt === null ? (
      <Badge color="red" variant="light">
        Open
      </Badge>
    ) : (
      <Badge variant="default">Over</Badge>
    )}
    {closedReason !== null && <Text size="sm">as {closedReason}</Text>}
    <Text size="sm">
      began <Ago at={openedAt} />
    </Text>
    {mutedUntil !== null && (
      <>
        <Badge variant="default">Muted</Badge>
        <Text size="sm">until {formatTime(mutedUntil)}</Text>
      </>
    )}
  </Group>
)

function Mute({ alert: { id, mutedUntil } }: { alert: Alert }) {
  const mute = useChange({ change: (seconds: number) => muteAlert(id, seconds), stale: ['alerts'] })
  return (
    <Group gap={4}>
      {mutedUntil === null ? (
        mutes.map(({ label, seconds }) => (
          <Button key={seconds} size="xs" variant="default" onClick={() => mute.mutate(seconds)}>
            {label}
          </Button>
        ))
      ) : (
        <Button size="xs" variant="default" onClick={() => mute.mutate(0)}>
          Unmute
        </Button>
      )}
    </Group>
  )
}
