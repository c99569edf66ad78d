import { Alert, Button, Group, MultiSelect, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import type { Audience } from '../../../../src/schemas/audience.ts'
import { audienceQuery, changeAudience } from '../../api/audiences.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { ApiError, type Tagged } from '../../api/request.ts'
import { outOfBounds } from '../../shared/bounds.ts'
import { ChangedMeanwhile } from '../../shared/changed-meanwhile.tsx'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { FormStack } from '../../shared/form-stack.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useTaggedForm } from '../../shared/use-tagged-form.ts'
import {
  fieldOf,
  headersError,
  labels,
  percentBounds,
  toPatch,
  toValues,
  type AudienceValues,
} from './audience-form.ts'
import { GuardFields, OriginFields } from './edit-fields.tsx'
import { ScheduleFields } from './schedule-fields.tsx'

/** All that can be changed of it. A name that leads to another trait asks which one to go on with. */
export function EditAudience({ current }: { current: Tagged<Audience> }) {
  const form = useForm<AudienceValues>({
    mode: 'controlled',
    initialValues: toValues(current.answer),
    validate: {
      headers: (lines, { from }) => (from === 'http' ? headersError(lines) : null),
      maxRemovalPercent: (percent) => outOfBounds(percent, percentBounds),
      maxBadRowPercent: (percent) => outOfBounds(percent, percentBounds),
    },
  })
  const { loaded, problem, load, reload, tell } = useTaggedForm({
    form,
    current,
    query: audienceQuery(current.answer.id),
    toValues,
  })
  const audience = loaded.answer
  const destinations = useQuery(destinationsQuery).data ?? []
  const save = useChange({
    change: ({ keepKey, ifMatch = loaded.etag }: { keepKey?: boolean; ifMatch?: string | null }) =>
      changeAudience(audience.id, toPatch(form.getValues(), audience, keepKey), ifMatch),
    stale: ['audiences'],
    done: 'Saved',
    onDone: load,
    onFailed: (error) =>
      tell(error, (told) => (asksForKey(told) ? undefined : placeError(told, fieldOf, form.setFieldError))),
  })
  return (
    <form onSubmit={form.onSubmit(() => save.mutate({}))}>
      <UnsavedGuard isDirty={form.isDirty()} />
      <FormStack isSaving={save.isPending}>
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
          <Alert color="yellow" role="alert" title="Receivers know this audience by another trait">
            <Stack gap="sm" align="flex-start">
              Its members have the trait {audience.key}. With a new trait, every member is sent again.
              <Group>
                <Button loading={save.isPending} onClick={() => save.mutate({ ...save.variables, keepKey: true })}>
                  Keep {audience.key}
                </Button>
                <Button
                  variant="default"
                  loading={save.isPending}
                  onClick={() => save.mutate({ ...save.variables, keepKey: false })}
                >
                  Use the new trait
                </Button>
              </Group>
            </Stack>
          </Alert>
        )}
        <FormProblem title="Not saved" problem={problem} />
        <ChangedMeanwhile
          error={save.error}
          labels={labels}
          isSaving={save.isPending}
          onReload={() => {
            save.reset()
            void reload()
          }}
          onOverwrite={() => save.mutate({ ...save.variables, ifMatch: null })}
        />
        <div>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </div>
      </FormStack>
    </form>
  )
}

const asksForKey = (error: Error): boolean => error instanceof ApiError && error.path === 'keepKey'
