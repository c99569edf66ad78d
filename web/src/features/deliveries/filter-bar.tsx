import { Group, Select, SimpleGrid } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { ClearFilters } from '../../shared/clear-filters.tsx'
import { messageTypes } from '../../shared/message-types.ts'
import { useNames } from '../../shared/names.ts'
import { SearchedChoice } from '../../shared/searched-choice.tsx'
import { TextFilter } from '../../shared/text-filter.tsx'
import { TimeFilters } from '../../shared/time-filters.tsx'
import { readFilter, statuses } from './filter.ts'
import { statusLooks } from './status-badge.tsx'

interface Props {
  filter: DeliveryFilter
  onChange: (filter: DeliveryFilter) => void
}

const statusChoices = statuses.map((value) => ({ value, label: statusLooks[value].label }))

/** Chooses deliveries; all members that are given must fit. */
export function FilterBar({ filter, onChange }: Props) {
  const sources = useQuery(sourcesQuery).data ?? []
  const destinations = useQuery(destinationsQuery).data ?? []
  const { sourceId } = filter
  const named = useNames(sourceId === undefined ? [] : [sourceId])
  const isOther = sourceId !== undefined && !sources.some(({ id }) => id === sourceId)
  const origins = [...sources, ...(isOther ? [{ id: sourceId, name: named(sourceId).name }] : [])]
  const set = (member: keyof DeliveryFilter, value: string | null): void =>
    onChange(readFilter({ ...filter, [member]: value ?? undefined }))
  const choice = (member: 'status' | 'type' | 'sourceId' | 'destinationId') => ({
    value: filter[member] ?? null,
    onChange: (value: string | null) => set(member, value),
  })
  const isFiltered = Object.keys(filter).length > 0
  return (
    <Group gap="xs" mb="md" align="flex-end" role="search" aria-label="Filter deliveries">
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="xs" verticalSpacing="xs" w="100%">
        <Select
          label={filter.destinationId === undefined ? 'Status' : 'Status there'}
          placeholder="Any"
          clearable
          data={statusChoices}
          {...choice('status')}
        />
        <SearchedChoice label="Source" data={origins.map(toChoice)} {...choice('sourceId')} />
        <SearchedChoice label="Destination" data={destinations.map(toChoice)} {...choice('destinationId')} />
        <Select label="Type" placeholder="Any" clearable data={messageTypes} {...choice('type')} />
        <TextFilter label="Event name, exact" value={filter.event ?? ''} onChange={(value) => set('event', value)} />
        <TextFilter label="User id, exact" value={filter.userId ?? ''} onChange={(value) => set('userId', value)} />
        <TextFilter
          label="Message id, exact"
          value={filter.messageId ?? ''}
          onChange={(value) => set('messageId', value)}
        />
        <TimeFilters filter={filter} onChange={set} />
      </SimpleGrid>
      {isFiltered && <ClearFilters onClear={() => onChange({})} />}
    </Group>
  )
}

const toChoice = ({ id, name }: { id: string; name: string }) => ({ value: id, label: name })
