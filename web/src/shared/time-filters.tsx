import { TextInput } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { loadFile } from './load-file.ts'
import { zoneName } from './time.tsx'

/** With its calendar, which is large: loaded beside the rows. */
const TimeFilter = lazy(() => loadFile(() => import('./time-filter.tsx')))

const labels = { since: 'From', until: 'Until' }

interface Props {
  filter: { since?: string | undefined; until?: string | undefined }
  onChange: (member: keyof typeof labels, value: string | null) => void
}

/** Two fields for the time that a list is narrowed to. */
export const TimeFilters = ({ filter, onChange }: Props) =>
  (['since', 'until'] as const).map((member) => {
    const label = `${labels[member]} (${zoneName(filter[member])})`
    return (
      <Suspense key={member} fallback={<TextInput label={label} placeholder="Any time" disabled />}>
        <TimeFilter label={label} value={filter[member]} onChange={(value) => onChange(member, value)} />
      </Suspense>
    )
  })
