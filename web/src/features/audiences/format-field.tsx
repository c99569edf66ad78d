import { Select } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { AudienceValues } from './audience-form.ts'

/** What the file at a URL is, where its server does not say so. */
export const FormatField = ({ form }: { form: UseFormReturnType<AudienceValues> }) => (
  <Select
    label="Format"
    allowDeselect={false}
    maw={620}
    data={[
      { value: 'told', label: 'As the Content-Type of the answer says' },
      { value: 'csv', label: 'CSV' },
      { value: 'ndjson', label: 'NDJSON' },
      { value: 'json', label: 'JSON' },
    ]}
    {...form.getInputProps('format')}
  />
)
