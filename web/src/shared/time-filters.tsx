import { TextInput } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { loadFile } from './load-file.ts'

/** With its calendar, which is large: loaded beside the rows. */
const TimeFilter = lazy(() => loadFile(() => import('./time-filter.tsx')))

const labels = { since: 'From', until: 'Until' }

interface Props {
  filter: { since?: string | undefined; until?: string | undefined }
  onChange: (member: keyof typeof labels, value: string | null) => void
}

/** Two fields for the time that a list is narrowed to. */
export const TimeFilters = ({ filter, onChange }: Props) =>
  (['since', 'until'] as const).map((member) => (
    <Suspense key={member} fallback={<TextInput label={labels[member]} placeholder="Any time" disabled />}>
      <TimeFilter label={labels[member]} value={filter[member]} onChange={(value) => onChange(member, value)} />
    </Suspense>
  ))
