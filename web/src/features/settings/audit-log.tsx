import { Badge, Group, Select, SimpleGrid, Stack, Table, Text } from '@mantine/core'
import { IconHistory } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AuditEntry, AuditFilter } from '../../../../src/schemas/audit.ts'
import { auditLogQuery } from '../../api/system.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { Dialog } from '../../shared/dialog.tsx'
import { EmptyState } from '../../shared/empty-state.tsx'
import { Link } from '../../shared/link.tsx'
import { LoadMore } from '../../shared/load-more.tsx'
import { useNames } from '../../shared/names.ts'
import { QueryView } from '../../shared/query-view.tsx'
import { ShowButton } from '../../shared/show-button.tsx'
import { TextFilter } from '../../shared/text-filter.tsx'
import { textColumn } from '../../shared/text-column.ts'
import { formatTime } from '../../shared/time.tsx'
import { describeAction, differences, matchedBy, subjectName } from './describe-change.ts'

const outcomeColors = { done: 'teal', failed: 'red', unknown: 'yellow', refused: 'orange' } as const

/** Every change: who, what, when, before and after. */
export function AuditLog() {
  const [filter, setFilter] = useState<AuditFilter>({})
  const query = useInfiniteQuery({ ...auditLogQuery(filter), placeholderData: keepPreviousData })
  const isFiltered = Object.keys(filter).length > 0
  return (
    <>
      <QueryView query={query}>
        {({ pages }) => {
          const entries = pages.flatMap(({ items }) => items)
          if (entries.length === 0 && !isFiltered) return <NothingChanged />
          return (
            <>
              <Filters filter={filter} onChange={setFilter} />
              {entries.length === 0 && <Text c="dimmed">No change matches these filters.</Text>}
              <Entries entries={entries} />
            </>
          )
        }}
      </QueryView>
      <LoadMore query={query} />
    </>
  )
}

function NothingChanged() {
  return (
    <EmptyState icon={<IconHistory aria-hidden />} title="Nothing was changed yet">
      Every change made in this app or through the management API is recorded here.
    </EmptyState>
  )
}

function Entries({ entries }: { entries: AuditEntry[] }) {
  const [shown, setShown] = useState<AuditEntry>()
  return (
    <>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th visibleFrom="sm">Time</Table.Th>
            <Table.Th visibleFrom="sm" {...textColumn}>
              Who
            </Table.Th>
            <Table.Th {...textColumn}>What</Table.Th>
            <Table.Th>Change</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entries.map((entry) => (
            <Table.Tr key={entry.id}>
              <Table.Td visibleFrom="sm" style={{ whiteSpace: 'nowrap' }}>
                {formatTime(entry.at)}
              </Table.Td>
              <Table.Td visibleFrom="sm" dir="auto">
                {entry.actor}
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Group gap="xs">
                  {describeAction(entry)}
                  {entry.outcome !== 'done' && (
                    <Badge color={outcomeColors[entry.outcome]} variant="light">
                      {entry.outcome}
                    </Badge>
                  )}
                </Group>
                <Subject entry={entry} />
                <Text size="xs" c="dimmed" hiddenFrom="sm">
                  {entry.actor}, {formatTime(entry.at)}
                </Text>
              </Table.Td>
              <Table.Td>
                <ShowButton
                  label={`Show ${describeAction(entry)} of ${formatTime(entry.at)}`}
                  onClick={() => setShown(entry)}
                />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Dialog
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        title={shown === undefined ? '' : `${describeAction(shown)} ${subjectName(shown)}`.trim()}
        size="xl"
      >
        {shown !== undefined && <Change entry={shown} />}
      </Dialog>
    </>
  )
}

const kinds = [
  { value: 'sources', label: 'Sources' },
  { value: 'destinations', label: 'Destinations' },
  { value: 'audiences', label: 'Audiences' },
  { value: 'deliveries', label: 'Deliveries' },
  { value: 'deletion-requests', label: 'Deletion requests' },
  { value: 'suppressions', label: 'Suppressions' },
  { value: 'tokens', label: 'API tokens' },
  { value: 'alert', label: 'Alerts' },
  { value: 'session', label: 'Refused sign-ins' },
]

function Filters({ filter, onChange }: { filter: AuditFilter; onChange: (filter: AuditFilter) => void }) {
  const setActor = (actor: string): void => {
    const { actor: _, ...rest } = filter
    onChange(actor === '' ? rest : { ...rest, actor })
  }
  return (
    <Group gap="xs" mb="md" role="search" aria-label="Filter changes">
      <Select
        label="Changes of"
        placeholder="Everything"
        clearable
        data={kinds}
        value={filter.subject ?? null}
        onChange={(subject) => {
          const { subject: _, ...rest } = filter
          onChange(subject === null ? rest : { ...rest, subject })
        }}
      />
      <TextFilter label="Who, exact" placeholder="Anybody" value={filter.actor ?? ''} onChange={setActor} />
    </Group>
  )
}

/** The name of what was changed; it leads there as long as it is there. */
function Subject({ entry }: { entry: AuditEntry }) {
  const [kind, id] = [entry.subject.split('/')[0], entry.subject.slice(entry.subject.indexOf('/') + 1)]
  const page = pagesOf[kind ?? '']
  const name = subjectName(entry)
  if (name === '') return null
  if (kind === 'deletion-requests')
    return (
      <Link to="/deletion-requests" size="xs">
        {name}
      </Link>
    )
  const isThere = entry.subject.includes('/') && !entry.action.endsWith('.delete') && matchedBy(entry) === undefined
  if (page === undefined || !isThere)
    return (
      <Text size="xs" c="dimmed" lineClamp={1} dir="auto">
        {name}
      </Text>
    )
  return (
    <Link to={page} params={{ id }} size="xs" dir="auto">
      {name}
    </Link>
  )
}

const pagesOf: Record<string, '/sources/$id' | '/destinations/$id' | '/audiences/$id' | '/deliveries/$id'> = {
  sources: '/sources/$id',
  destinations: '/destinations/$id',
  audiences: '/audiences/$id',
  deliveries: '/deliveries/$id',
}

function Change({ entry: { actor, at, subject, before, after } }: { entry: AuditEntry }) {
  const changes = before === null || after === null ? [] : differences(before, after)
  const valueOf = useNamedValues(changes.flatMap((change) => [change.before, change.after]))
  return (
    <Stack>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        By {actor}, {formatTime(at)}: {subject}
      </Text>
      {changes.length > 0 && (
        <Table aria-label="Differences" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Setting</Table.Th>
              <Table.Th>Before</Table.Th>
              <Table.Th>After</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changes.map((change) => (
              <Table.Tr key={Object.values(change).join(' ')} style={{ overflowWrap: 'anywhere' }}>
                <Table.Td>{change.path}</Table.Td>
                <Table.Td dir="auto">{valueOf(change.before)}</Table.Td>
                <Table.Td dir="auto">{valueOf(change.after)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Side title="Before" value={before} />
        <Side title="After" value={after} />
      </SimpleGrid>
    </Stack>
  )
}

/** @param values  as JSON
 *  @returns tells one of them as it is shown: ids of sources, destinations and audiences by their names */
function useNamedValues(values: readonly string[]): (value: string) => string {
  const idIn = (value: string): string | undefined => /^"((?:src|dst|aud)_\w+)"$/.exec(value)?.[1]
  const named = useNames(values.flatMap((value) => idIn(value) ?? []))
  return (value) => {
    const id = idIn(value)
    return id === undefined ? value : named(id).name
  }
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
