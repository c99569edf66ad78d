import { Group, SegmentedControl, Select, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { destinationsQuery } from '../../api/destinations.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { ranges, type OverviewSearch, type RangeName } from './range.ts'
import { loadFile } from '../../shared/load-file.ts'

/** With its calendar, loaded when days are chosen. */
const DaysInput = lazy(() => loadFile(() => import('./days-input.tsx')))

interface Props {
  search: OverviewSearch
  onChange: (search: OverviewSearch) => void
}

/** Chooses the range, and whose events count. */
export function RangeBar({ search, onChange }: Props) {
  const { range = '24h', sourceId = null, destinationId = null } = search
  const sources = useQuery(sourcesQuery).data ?? []
  const destinations = useQuery(destinationsQuery).data ?? []
  const choose = (value: string): void => {
    const next = value as RangeName
    onChange({ ...search, range: next, ...(next !== 'custom' && { since: undefined, until: undefined }) })
  }
  return (
    <Group gap="sm" align="flex-end">
      <SegmentedControl
        aria-label="Range"
        value={range}
        onChange={choose}
        data={[...ranges.map(({ value, label }) => ({ value, label })), { value: 'custom', label: 'Days' }]}
      />
      {range === 'custom' && (
        <Suspense fallback={<Skeleton h={36} w={240} />}>
          <DaysInput search={search} onChange={onChange} />
        </Suspense>
      )}
      <Select
        aria-label="Source"
        placeholder="All sources"
        clearable
        data={sources.map(({ id, name }) => ({ value: id, label: name }))}
        value={sourceId}
        onChange={(value) => onChange({ ...search, sourceId: value ?? undefined })}
        w={180}
      />
      <Select
        aria-label="Destination"
        placeholder="All destinations"
        clearable
        data={destinations.map(({ id, name }) => ({ value: id, label: name }))}
        value={destinationId}
        onChange={(value) => onChange({ ...search, destinationId: value ?? undefined })}
        w={180}
      />
    </Group>
  )
}
