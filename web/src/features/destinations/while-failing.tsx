import { NumberInput, Radio, Stack } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { holdBounds } from './check-step.ts'
import type { DestinationValues } from './destination-form.ts'
import { RetrySchedule } from './retry-schedule.tsx'

/** What becomes of deliveries while every endpoint fails. */
export function WhileFailing({ form }: { form: UseFormReturnType<DestinationValues> }) {
  return (
    <>
      <Radio.Group
        label="What becomes of deliveries while every endpoint fails?"
        key={form.key('onFailing')}
        {...form.getInputProps('onFailing')}
      >
        <Stack gap="xs" mt="xs">
          <Radio value="retry" label="They are retried, and fail when their retry window is over" />
          <Radio value="hold" label="They are held until an endpoint answers: none fails meanwhile" />
        </Stack>
      </Radio.Group>
      {form.getValues().onFailing === 'hold' && (
        <NumberInput
          label="Hold after so many minutes of failure"
          min={Math.floor(holdBounds.min)}
          max={holdBounds.max}
          maw={320}
          key={form.key('holdAfterMinutes')}
          {...form.getInputProps('holdAfterMinutes')}
        />
      )}
      <RetrySchedule form={form} />
    </>
  )
}
