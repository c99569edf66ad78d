import { Accordion, Group, NumberInput, Select, Stack, TagsInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { isUsual, type DestinationValues } from './destination-form.ts'
import { RetrySchedule } from './retry-schedule.tsx'

interface Props {
  form: UseFormReturnType<DestinationValues>
  /** Place of the endpoint in the form. */
  endpoint: number
}

const contentTypes = [
  { value: 'json', label: 'JSON' },
  { value: 'form', label: 'Form' },
]

/** How requests to one endpoint are made, and for how long; out of the way for those that want them as usual. */
export function EndpointOptions({ form, endpoint }: Props) {
  const path = `webhooks.${endpoint}.options`
  const options = form.getValues().webhooks[endpoint]?.options
  if (options === undefined) return null
  return (
    <Accordion variant="contained" defaultValue={isUsual(options) ? null : 'options'}>
      <Accordion.Item value="options">
        <Accordion.Control>Options of endpoint {endpoint + 1}</Accordion.Control>
        <Accordion.Panel>
          <Stack gap="sm">
            <Group align="flex-start" gap="sm">
              <Select
                label="Method"
                w={120}
                data={['POST', 'PUT', 'PATCH']}
                allowDeselect={false}
                key={form.key(`${path}.method`)}
                {...form.getInputProps(`${path}.method`)}
              />
              <Select
                label="Content"
                w={180}
                data={contentTypes}
                allowDeselect={false}
                key={form.key(`${path}.contentType`)}
                {...form.getInputProps(`${path}.contentType`)}
              />
              <NumberInput
                label="Time limit"
                description="For its answer, 1 to 30 s"
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                w={200}
                min={1}
                max={30}
                allowDecimal={false}
                suffix=" s"
                key={form.key(`${path}.timeoutSeconds`)}
                {...form.getInputProps(`${path}.timeoutSeconds`)}
              />
              <TagsInput
                label="More statuses that are a success"
                description="Besides 200 to 299: any from 300 to 499, or ranges such as 400-404"
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                w={320}
                key={form.key(`${path}.successStatuses`)}
                {...form.getInputProps(`${path}.successStatuses`)}
              />
              <NumberInput
                label="Requests a second"
                description="The most that each node sends; empty: no limit"
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                w={240}
                min={1}
                max={1000}
                allowDecimal={false}
                key={form.key(`${path}.maxPerSecond`)}
                {...form.getInputProps(`${path}.maxPerSecond`)}
              />
              <NumberInput
                label="At a time"
                description="The most attempts of each node; empty: as many as it proves to take"
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                w={280}
                min={1}
                max={128}
                allowDecimal={false}
                key={form.key(`${path}.maxConcurrent`)}
                {...form.getInputProps(`${path}.maxConcurrent`)}
              />
            </Group>
            <RetrySchedule form={form} endpoint={endpoint} />
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  )
}
