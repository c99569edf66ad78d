import { Group, SegmentedControl, Select } from '@mantine/core'
import { DatePickerInput } from '@mantine/dates'
import '@mantine/dates/styles.layer.css'
import { useQuery } from '@tanstack/react-query'
import dayjs from 'dayjs'
import { useState } from 'react'
import { destinationsQuery } from '../../api/destinations.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { ranges, type OverviewSearch, type RangeName } from './range.ts'

interface Props {
  search: OverviewSearch
  onChange: (search: OverviewSearch) => void
}

/** Chooses the range, and whose events count. */
export function RangeBar({ search, onChange }: Props) {
  const { range = '24h', sourceId = null, destinationId = null } = search
  const sources = useQuery(sourcesQuery).data ?? []
  const destinations = useQuery(destinationsQuery).data ?? []
  const [days, setDays] = useState<[string | null, string | null]>([
    search.since === undefined ? null : dayjs(search.since).format('YYYY-MM-DD'),
    search.until === undefined ? null : dayjs(search.until).subtract(1, 'ms').format('YYYY-MM-DD'),
  ])
  const chooseDays = ([first, last]: [string | null, string | null]): void => {
    setDays([first, last])
    if (first === null || last === null) return
    const until = dayjs(last).add(1, 'day')
    onChange({ ...search, range: 'custom', since: dayjs(first).toISOString(), until: until.toISOString() })
  }
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
        <DatePickerInput
          type="range"
          aria-label="Days"
          placeholder="First and last day"
          value={days}
          onChange={chooseDays}
          w={240}
          maxDate={new Date()}
        />
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
