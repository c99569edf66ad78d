import { Button, Group, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { Destination } from '../../../../src/schemas/destination.ts'
import { destinationQuery, saveDestination } from '../../api/destinations.ts'
import type { Tagged } from '../../api/request.ts'
import { ChangedMeanwhile } from '../../shared/changed-meanwhile.tsx'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { FormStack } from '../../shared/form-stack.tsx'
import { Section } from '../../shared/section.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useTaggedForm } from '../../shared/use-tagged-form.ts'
import { endpointErrors, holdError, newSourceError, pausesError } from './check-step.ts'
import { fieldOf, labels, toPatch, toValues, type DestinationValues } from './destination-form.ts'
import { EndpointFields } from './endpoint-fields.tsx'
import { OrderPerUser } from './order-per-user.tsx'
import { SecretField } from './secret-field.tsx'
import { SourceChoice } from './source-choice.tsx'
import { SuccessPolicy } from './success-policy.tsx'
import { WhileFailing } from './while-failing.tsx'

/** The settings of a destination: asks before unsaved edits are lost, and before those of others are. */
export function SettingsForm({ destination }: { destination: Tagged<Destination> }) {
  const form = useForm<DestinationValues>({
    mode: 'controlled',
    initialValues: toValues(destination.answer),
    validate: (values) => ({
      ...newSourceError(values.newSource),
      ...endpointErrors(values.webhooks),
      ...pausesError(values),
      ...holdError(values),
    }),
  })
  const { id } = destination.answer
  const { loaded, problem, load, reload, tell } = useTaggedForm({
    form,
    current: destination,
    query: destinationQuery(id),
    toValues,
  })
  const save = useChange({
    change: (ifMatch: string | null) => saveDestination(id, toPatch(form.getValues()), ifMatch),
    stale: ['destinations', 'sources'],
    done: 'Saved. URLs, headers and secret count from the next attempt on; sources, retries and order for events that come from now on.',
    onDone: load,
    onFailed: (error) => {
      const values = form.getValues()
      tell(error, (told) => placeError(told, (path) => fieldOf(path, values), form.setFieldError))
    },
  })
  return (
    <Section title="Settings">
      <UnsavedGuard isDirty={form.isDirty()} />
      <form onSubmit={form.onSubmit(() => save.mutate(loaded.etag))}>
        <FormStack isSaving={save.isPending}>
          <TextInput label="Name" required maw={420} key={form.key('name')} {...form.getInputProps('name')} />
          <SourceChoice form={form} />
          <EndpointFields form={form} destinationId={id} />
          {form.getValues().webhooks.length > 1 && <SuccessPolicy form={form} />}
          <WhileFailing form={form} />
          <OrderPerUser form={form} />
          <div>
            <SecretField form={form} isSet={loaded.answer.settings.hasSharedSecret} />
          </div>
          <FormProblem title="Not saved" problem={problem} />
          <ChangedMeanwhile
            error={save.error}
            labels={labels}
            isSaving={save.isPending}
            onReload={() => {
              save.reset()
              void reload()
            }}
            onOverwrite={() => save.mutate(null)}
          />
          <Group>
            <Button type="submit" loading={save.isPending}>
              Save
            </Button>
            {form.isDirty() && (
              <Button variant="default" onClick={form.reset}>
                Discard changes
              </Button>
            )}
          </Group>
        </FormStack>
      </form>
    </Section>
  )
}
