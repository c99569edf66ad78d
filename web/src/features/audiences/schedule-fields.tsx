import { Group, Select, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { AudienceValues } from './audience-form.ts'

/** When members are fetched by themselves. */
export function ScheduleFields({ form }: { form: UseFormReturnType<AudienceValues> }) {
  const { schedule, timezone } = form.getValues()
  return (
    <Group align="flex-start">
      <Select
        label="Schedule"
        allowDeselect={false}
        data={[
          { value: 'none', label: 'None: only when asked for' },
          { value: 'interval', label: 'At an interval' },
          { value: 'cron', label: 'By a cron expression' },
        ]}
        {...form.getInputProps('schedule')}
      />
      {schedule === 'interval' && (
        <TextInput
          label="Interval"
          description="For example 15m, 6h or 1d"
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          {...form.getInputProps('interval')}
        />
      )}
      {schedule === 'cron' && <TextInput label={`Cron, in ${timezone}`} {...form.getInputProps('cron')} />}
    </Group>
  )
}
