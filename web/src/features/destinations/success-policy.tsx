import { Radio, Stack } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { DestinationValues } from './destination-form.ts'

/** What of several endpoints makes an event delivered. */
export function SuccessPolicy({ form }: { form: UseFormReturnType<DestinationValues> }) {
  return (
    <Radio.Group
      label="When is an event delivered?"
      key={form.key('successPolicy')}
      {...form.getInputProps('successPolicy')}
    >
      <Stack gap="xs" mt="xs">
        <Radio value="any" label="As soon as one endpoint has accepted it" />
        <Radio value="all" label="When every endpoint has accepted it" />
      </Stack>
    </Radio.Group>
  )
}
