import { Badge, Button, Group, Modal, SimpleGrid, Stack, Table, Text } from '@mantine/core'
import { IconHistory } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AuditEntry } from '../../../../src/schemas/audit.ts'
import { auditLogQuery } from '../../api/system.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { EmptyState } from '../../shared/empty-state.tsx'
import { ErrorNotice } from '../../shared/error-notice.tsx'
import { LoadMore } from '../../shared/load-more.tsx'
import { Outline } from '../../shared/query-view.tsx'
import { formatTime } from '../../shared/time.tsx'

const outcomeColors = { done: 'teal', failed: 'red', unknown: 'yellow', refused: 'orange' } as const

/** Every change: who, what, when, before and after. */
export function AuditLog() {
  const query = useInfiniteQuery(auditLogQuery)
  const [shown, setShown] = useState<AuditEntry>()
  if (query.data === undefined)
    return query.error === null ? <Outline /> : <ErrorNotice error={query.error} onRetry={query.refetch} />
  const entries = query.data.pages.flatMap(({ items }) => items)
  if (entries.length === 0)
    return (
      <EmptyState icon={<IconHistory aria-hidden />} title="Nothing was changed yet">
        Every change through this app or the management API is written down here.
      </EmptyState>
    )
  return (
    <>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th visibleFrom="sm">Time</Table.Th>
            <Table.Th visibleFrom="xs">Who</Table.Th>
            <Table.Th>What</Table.Th>
            <Table.Th>Change</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entries.map((entry) => (
            <Table.Tr key={entry.id}>
              <Table.Td visibleFrom="sm">{formatTime(entry.at)}</Table.Td>
              <Table.Td visibleFrom="xs" style={{ overflowWrap: 'anywhere' }}>
                {entry.actor}
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Group gap="xs">
                  {entry.action}
                  {entry.outcome !== 'done' && (
                    <Badge color={outcomeColors[entry.outcome]} variant="light">
                      {entry.outcome}
                    </Badge>
                  )}
                </Group>
                <Text size="xs" c="dimmed" lineClamp={1}>
                  {entry.subject}
                </Text>
              </Table.Td>
              <Table.Td>
                <Button
                  variant="default"
                  size="compact-sm"
                  aria-label={`Show ${entry.action} of ${formatTime(entry.at)}`}
                  onClick={() => setShown(entry)}
                >
                  Show
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <LoadMore hasMore={query.hasNextPage} isLoading={query.isFetchingNextPage} onMore={query.fetchNextPage} />
      <Modal
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        title={shown?.action ?? ''}
        size="xl"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {shown !== undefined && <Change entry={shown} />}
      </Modal>
    </>
  )
}

function Change({ entry: { actor, at, subject, before, after } }: { entry: AuditEntry }) {
  return (
    <Stack>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {actor} changed {subject} at {formatTime(at)}.
      </Text>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Side title="Before" value={before} />
        <Side title="After" value={after} />
      </SimpleGrid>
    </Stack>
  )
}

function Side({ title, value }: { title: string; value: unknown }) {
  return (
    <div>
      <Text fw={600} mb={4}>
        {title}
      </Text>
      {value === null || value === undefined ? (
        <Text c="dimmed">nothing</Text>
      ) : (
        <CodeBlock name={title.toLowerCase()} value={JSON.stringify(value, null, 2)} />
      )}
    </div>
  )
}
