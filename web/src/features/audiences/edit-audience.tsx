import { Alert, Button, Group, MultiSelect, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Audience } from '../../../../src/schemas/audience.ts'
import { changeAudience } from '../../api/audiences.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { ApiError } from '../../api/request.ts'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { useChange } from '../../shared/use-change.ts'
import { fieldOf, headersError, toPatch, toValues, type AudienceValues } from './audience-form.ts'
import { GuardFields, OriginFields } from './edit-fields.tsx'
import { ScheduleFields } from './schedule-fields.tsx'

/** All that can be changed of it. A name that leads to another trait asks which one to go on with. */
export function EditAudience({ audience }: { audience: Audience }) {
  const form = useForm<AudienceValues>({
    mode: 'controlled',
    initialValues: toValues(audience),
    validate: { headers: (lines, { from }) => (from === 'http' ? headersError(lines) : null) },
  })
  const [problem, setProblem] = useState<string>()
  const destinations = useQuery(destinationsQuery).data ?? []
  const save = useChange({
    change: (keepKey?: boolean) => changeAudience(audience.id, toPatch(form.getValues(), audience, keepKey)),
    stale: ['audiences'],
    done: 'Saved',
    onDone: () => setProblem(undefined),
    onFailed: (error) => setProblem(asksForKey(error) ? undefined : placeError(error, fieldOf, form.setFieldError)),
  })
  return (
    <form onSubmit={form.onSubmit(() => save.mutate(undefined))}>
      <Stack>
        <TextInput label="Name" required maw={420} {...form.getInputProps('name')} />
        <MultiSelect
          label="Destinations"
          maw={620}
          data={destinations.map(({ id, name }) => ({ value: id, label: name }))}
          {...form.getInputProps('destinationIds')}
        />
        <OriginFields form={form} />
        {form.getValues().from !== 'push' && <ScheduleFields form={form} />}
        <GuardFields form={form} />
        {save.error !== null && asksForKey(save.error) && (
          <Alert color="yellow" role="alert" title="Receivers know it by another trait">
            <Stack gap="sm" align="flex-start">
              Its members have the trait {audience.key}. Under a new one, every member is sent anew.
              <Group>
                <Button loading={save.isPending} onClick={() => save.mutate(true)}>
                  Keep {audience.key}
                </Button>
                <Button variant="default" loading={save.isPending} onClick={() => save.mutate(false)}>
                  Take the new trait
                </Button>
              </Group>
            </Stack>
          </Alert>
        )}
        <FormProblem title="Not saved" problem={problem} />
        <div>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </div>
      </Stack>
    </form>
  )
}

const asksForKey = (error: Error): boolean => error instanceof ApiError && error.path === 'keepKey'
