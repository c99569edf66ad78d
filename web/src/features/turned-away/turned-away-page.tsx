import { Badge, Group, Select, SimpleGrid, Table, Text } from '@mantine/core'
import { IconFilterOff } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { TurnedAwayEvent, TurnedAwayFilter } from '../../../../src/schemas/turned-away.ts'
import { recovering } from '../../api/query-client.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { turnedAwayQuery } from '../../api/turned-away.ts'
import { ClearFilters } from '../../shared/clear-filters.tsx'
import { Dialog } from '../../shared/dialog.tsx'
import { EmptyState } from '../../shared/empty-state.tsx'
import { TurnedAwayBody } from '../../shared/event-body.tsx'
import { fateLooks, whyTurnedAway } from '../../shared/fates.ts'
import { Link } from '../../shared/link.tsx'
import { LoadMore } from '../../shared/load-more.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { ShowButton } from '../../shared/show-button.tsx'
import { refusalText } from '../../shared/refusals.ts'
import { textColumn } from '../../shared/text-column.ts'
import { SearchedChoice } from '../../shared/searched-choice.tsx'
import { TextFilter } from '../../shared/text-filter.tsx'
import { TimeFilters } from '../../shared/time-filters.tsx'
import { Ago } from '../../shared/time.tsx'
import { visibleName } from '../../shared/visible-name.ts'
import { fates, readTurnedAwayFilter } from './filter.ts'

/** How often the newest are read, in milliseconds. */
const refreshMs = 5_000

const fateChoices = fates.map((value) => ({ value, label: fateLooks[value].label }))

/** Events that came in and went nowhere, each with its reason and body. */
export function TurnedAwayPage() {
  const filter = useSearch({ from: '/shell/turned-away' })
  const navigate = useNavigate()
  const router = useRouter()
  const query = useInfiniteQuery({
    ...turnedAwayQuery(filter),
    refetchInterval: recovering(({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : refreshMs)),
  })
  const [shown, setShown] = useState<TurnedAwayEvent>()
  const change = (next: TurnedAwayFilter): void => {
    // A filter follows its typing after a pause. By then another page may have been opened.
    if (router.latestLocation.pathname !== '/turned-away') return
    void navigate({ to: '/turned-away', search: next, replace: true })
  }
  return (
    <>
      <PageHeader
        title="Turned away"
        description="Events that came in but were not delivered to anyone: the newest 10,000 of each source, for 24 hours; where more than 200 came within a second, only the newest of them. Requests that could not be read or had no valid write key belong to no source and are only counted."
      />
      <Filters filter={filter} onChange={change} />
      <QueryView query={query}>
        {({ pages }) => {
          const events = pages.flatMap(({ items }) => items)
          if (events.length > 0) return <EventTable events={events} onShow={setShown} />
          return (
            <EmptyState icon={<IconFilterOff aria-hidden />} title="No event matches">
              No such event of a source came in within the last 24 hours, or too many others came with it or after it
              for it to be kept. Requests that could not be read or had no valid write key are only counted.
            </EmptyState>
          )
        }}
      </QueryView>
      <LoadMore query={query} />
      <Dialog
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        title={visibleName(shown?.event) ?? shown?.type ?? 'An event'}
        size="lg"
      >
        {shown !== undefined && <TurnedAwayBody id={shown.id} />}
      </Dialog>
    </>
  )
}

function Filters({ filter, onChange }: { filter: TurnedAwayFilter; onChange: (filter: TurnedAwayFilter) => void }) {
  const sources = useQuery(sourcesQuery).data ?? []
  const { destinationId } = filter
  const destination = useQuery(destinationsQuery).data?.find(({ id }) => id === destinationId)
  const set = (member: keyof TurnedAwayFilter, value: string | null): void =>
    onChange(readTurnedAwayFilter({ ...filter, [member]: value ?? undefined }))
  return (
    <Group gap="xs" mb="md" align="flex-end" role="search" aria-label="Filter events">
      <SimpleGrid cols={{ base: 2, sm: 3 }} spacing="xs" verticalSpacing="xs" w="100%">
        <Select
          label="What became of it"
          placeholder="Any"
          clearable
          data={fateChoices}
          value={filter.fate ?? null}
          onChange={(value) => set('fate', value)}
        />
        <SearchedChoice
          label="Source"
          data={sources.map(({ id, name }) => ({ value: id, label: name }))}
          value={filter.sourceId ?? null}
          onChange={(value) => set('sourceId', value)}
        />
        <TextFilter
          label="Message id, exact"
          value={filter.messageId ?? ''}
          onChange={(value) => set('messageId', value)}
        />
        <TextFilter label="User id, exact" value={filter.userId ?? ''} onChange={(value) => set('userId', value)} />
        <TimeFilters filter={filter} onChange={set} />
        {/* Links of the overview choose these. */}
        {destinationId !== undefined && (
          <Select
            label="Sources of destination"
            clearable
            data={[{ value: destinationId, label: destination?.name ?? destinationId }]}
            value={destinationId}
            onChange={(value) => set('destinationId', value)}
          />
        )}
        {filter.reason !== undefined && (
          <Select
            label="Reason"
            clearable
            data={[{ value: filter.reason, label: refusalText(filter.reason) }]}
            value={filter.reason}
            onChange={(value) => set('reason', value)}
          />
        )}
      </SimpleGrid>
      {Object.keys(filter).length > 0 && <ClearFilters onClear={() => onChange({})} />}
    </Group>
  )
}

function EventTable({ events, onShow }: { events: TurnedAwayEvent[]; onShow: (event: TurnedAwayEvent) => void }) {
  const sources = useQuery(sourcesQuery).data ?? []
  return (
    <Table verticalSpacing="xs" highlightOnHover>
      <Table.Thead>
        <Table.Tr>
          <Table.Th {...textColumn}>Event</Table.Th>
          <Table.Th {...textColumn}>What became of it</Table.Th>
          <Table.Th visibleFrom="sm" {...textColumn}>
            User
          </Table.Th>
          <Table.Th visibleFrom="md" {...textColumn}>
            Source
          </Table.Th>
          <Table.Th visibleFrom="lg" {...textColumn}>
            Message
          </Table.Th>
          <Table.Th visibleFrom="xs">Came in</Table.Th>
          <Table.Th>Body</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {events.map((event) => (
          <Table.Tr key={event.id}>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              <Text size="sm" fw={600} dir="auto" lineClamp={3}>
                {visibleName(event.event) ?? event.type ?? 'Unreadable'}
              </Text>
              <Text size="xs" c="dimmed" hiddenFrom="sm" dir="auto" lineClamp={2}>
                {event.userId ?? 'no user'}
              </Text>
              <Text size="xs" c="dimmed" hiddenFrom="lg" ff="monospace" lineClamp={2}>
                {event.messageId ?? 'no message id'}
              </Text>
              <Text size="xs" c="dimmed" hiddenFrom="xs">
                <Ago at={event.at} />
              </Text>
            </Table.Td>
            <Table.Td>
              <Badge color={fateLooks[event.fate].color} variant="light">
                {fateLooks[event.fate].label}
              </Badge>
              <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {whyTurnedAway(event)}
              </Text>
            </Table.Td>
            <Table.Td visibleFrom="sm" style={{ overflowWrap: 'anywhere' }} dir="auto">
              {event.userId ?? '–'}
            </Table.Td>
            <Table.Td visibleFrom="md">
              <Link to="/sources/$id" params={{ id: event.sourceId }} dir="auto">
                {sources.find(({ id }) => id === event.sourceId)?.name ?? event.sourceId}
              </Link>
            </Table.Td>
            <Table.Td visibleFrom="lg" ff="monospace" fz="xs" style={{ overflowWrap: 'anywhere' }}>
              {event.messageId ?? '–'}
            </Table.Td>
            <Table.Td visibleFrom="xs">
              <Ago at={event.at} />
            </Table.Td>
            <Table.Td>
              <ShowButton label={`Show the body of ${event.messageId ?? event.id}`} onClick={() => onShow(event)} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
