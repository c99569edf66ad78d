import { Button, Group, NumberInput, Switch, Text } from '@mantine/core'
import { useForm, type UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import type { AlertRules } from '../../../../src/schemas/alert.ts'
import { alertRulesQuery, saveAlertRules } from '../../api/alerts.ts'
import type { Tagged } from '../../api/request.ts'
import { ChangedMeanwhile } from '../../shared/changed-meanwhile.tsx'
import { outOfBounds, type Bounds } from '../../shared/bounds.ts'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { FormStack } from '../../shared/form-stack.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { Section } from '../../shared/section.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useTaggedForm } from '../../shared/use-tagged-form.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { RulesPreview } from './rules-preview.tsx'

/** When there is an alert. */
export function AlertRulesForm() {
  const query = useQuery(alertRulesQuery)
  return (
    <Section title="When">
      <Text size="sm">
        Each change is told once: that it began and, where it can end, that it is over. For example, with 10 minutes in
        the first field, an endpoint that answers 503 from 10:00 on is told of at 10:10, and again when it takes an
        event.
      </Text>
      <QueryView query={query}>{(rules) => <Rules rules={rules} />}</QueryView>
    </Section>
  )
}

/** Bounds of the fields, and the unit that they count in. */
const bounds: Record<NumberName, Bounds> = {
  endpointMinutes: { min: 1 / 60, max: 24 * 60, unit: 'minutes' },
  failedPercent: { min: 1, max: 100, unit: '%' },
  failedMinutes: { min: 1, max: 60, unit: 'minutes' },
  inboxMinutes: { min: 1 / 60, max: 24 * 60, unit: 'minutes' },
  resizedPercent: { min: 1, max: 1_000, unit: '%' },
  keyHours: { min: 1 / 3_600, max: 30 * 24, unit: 'hours' },
}

const numberNames = Object.keys(bounds) as NumberName[]

/** What is wrong with the numbers, by their fields. */
const wrongIn = (values: RuleValues): Record<string, string | null> =>
  Object.fromEntries(numberNames.map((name) => [name, outOfBounds(values[name], bounds[name])]))

/** What the form calls the members of the rules. */
const labels: Record<keyof AlertRules, string> = {
  endpointFailingAfterSeconds: 'An endpoint fails for so many minutes',
  endpointFailedPercent: 'So many percent of the attempts at an endpoint fail',
  endpointFailedMinutes: 'Within so many minutes',
  inboxOlderThanSeconds: 'An event waits in the inbox for so many minutes',
  audienceResizedPercent: 'A sync changed the size of an audience by more than so many percent',
  keyEndingWithinSeconds: 'A replaced write key or secret ends within so many hours',
  endpointDown: 'An endpoint is down',
  destinationHeld: 'A destination is held because it fails',
  syncFailed: 'A sync failed or was refused',
}

/** Asks before unsaved edits are lost, and before those of others are. */
function Rules({ rules }: { rules: Tagged<AlertRules> }) {
  const form = useForm({
    mode: 'controlled',
    initialValues: toValues(rules.answer),
    validate: wrongIn,
  })
  const { loaded, problem, load, reload, tell } = useTaggedForm({
    form,
    current: rules,
    query: alertRulesQuery,
    toValues,
  })
  const canChange = useCanChange()
  const save = useChange({
    change: (ifMatch: string | null) => saveAlertRules(toRules(form.getValues()), ifMatch),
    stale: ['alerts'],
    done: 'Saved. The rules apply from the next check on.',
    onDone: load,
    onFailed: (error) => tell(error, (told) => placeError(told, fieldOf, form.setFieldError)),
  })
  return (
    <form onSubmit={form.onSubmit(() => save.mutate(loaded.etag))}>
      <UnsavedGuard isDirty={form.isDirty()} />
      <FormStack isSaving={save.isPending}>
        <Fields form={form} disabled={!canChange} />
        {canChange && (
          <>
            <RulesPreview
              rules={toRules(form.values)}
              isWithinBounds={Object.values(wrongIn(form.values)).every((wrong) => wrong === null)}
            />
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
                Save rules
              </Button>
            </Group>
          </>
        )}
      </FormStack>
    </form>
  )
}

function Fields({ form, disabled }: { form: UseFormReturnType<RuleValues>; disabled: boolean }) {
  const number = (name: NumberName, label: string, description: string) => (
    <NumberInput
      label={label}
      description={description}
      min={Math.floor(bounds[name].min)}
      max={bounds[name].max}
      maw={480}
      disabled={disabled}
      {...form.getInputProps(name)}
    />
  )
  const onOff = (name: SwitchName, description: string) => (
    <Switch
      label={labels[name]}
      description={description}
      disabled={disabled}
      {...form.getInputProps(name, { type: 'checkbox' })}
    />
  )
  return (
    <>
      {number('endpointMinutes', labels.endpointFailingAfterSeconds, 'All its attempts. Empty: no alert')}
      {number(
        'failedPercent',
        labels.endpointFailedPercent,
        'If there were at least 20. The alert ends below half of that percentage. Empty: no alert',
      )}
      {number('failedMinutes', labels.endpointFailedMinutes, 'Up to 60')}
      {number('inboxMinutes', labels.inboxOlderThanSeconds, 'Empty: no alert')}
      {number(
        'resizedPercent',
        labels.audienceResizedPercent,
        'With 30, from 1,000 members to 650 or to 1,350. Empty: no alert',
      )}
      {number('keyHours', labels.keyEndingWithinSeconds, 'The old one no longer counts from then on. Empty: no alert')}
      {onOff('endpointDown', 'So many attempts failed that only one is made now and then')}
      {onOff('destinationHeld', 'Its deliveries wait until it answers')}
      {onOff('syncFailed', 'One that was refused waits to be confirmed')}
    </>
  )
}

interface RuleValues {
  endpointMinutes: number | string
  failedPercent: number | string
  failedMinutes: number | string
  inboxMinutes: number | string
  resizedPercent: number | string
  keyHours: number | string
  endpointDown: boolean
  destinationHeld: boolean
  syncFailed: boolean
}
type SwitchName = 'endpointDown' | 'destinationHeld' | 'syncFailed'
type NumberName = Exclude<keyof RuleValues, SwitchName>

/** An empty field is null. @param unit  how many of them make one of the field */
const toField = (value: number | null, unit = 1): number | string => (value === null ? '' : value / unit)
const fromField = (field: number | string, unit = 1): number | null =>
  field === '' ? null : Math.round(Number(field) * unit)

const toValues = (rules: AlertRules): RuleValues => ({
  endpointMinutes: toField(rules.endpointFailingAfterSeconds, 60),
  failedPercent: toField(rules.endpointFailedPercent),
  failedMinutes: rules.endpointFailedMinutes,
  inboxMinutes: toField(rules.inboxOlderThanSeconds, 60),
  resizedPercent: toField(rules.audienceResizedPercent),
  keyHours: toField(rules.keyEndingWithinSeconds, 3_600),
  endpointDown: rules.endpointDown,
  destinationHeld: rules.destinationHeld,
  syncFailed: rules.syncFailed,
})

const toRules = (values: RuleValues): AlertRules => ({
  endpointFailingAfterSeconds: fromField(values.endpointMinutes, 60),
  endpointFailedPercent: fromField(values.failedPercent),
  endpointFailedMinutes: Number(values.failedMinutes),
  endpointDown: values.endpointDown,
  destinationHeld: values.destinationHeld,
  inboxOlderThanSeconds: fromField(values.inboxMinutes, 60),
  syncFailed: values.syncFailed,
  audienceResizedPercent: fromField(values.resizedPercent),
  keyEndingWithinSeconds: fromField(values.keyHours, 3_600),
})

/** The form's field for a member of the body that the server found wrong. */
const fieldOf = (path: string): keyof RuleValues | undefined => fields[path]

const fields: Record<string, keyof RuleValues> = {
  endpointFailingAfterSeconds: 'endpointMinutes',
  endpointFailedPercent: 'failedPercent',
  endpointFailedMinutes: 'failedMinutes',
  inboxOlderThanSeconds: 'inboxMinutes',
  audienceResizedPercent: 'resizedPercent',
  keyEndingWithinSeconds: 'keyHours',
}
