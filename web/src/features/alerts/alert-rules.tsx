import { Button, Group, NumberInput, Stack, Switch } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import type { AlertRules } from '../../../../src/schemas/alert.ts'
import { alertRulesQuery, saveAlertRules } from '../../api/alerts.ts'
import { QueryView } from '../../shared/query-view.tsx'
import { Section } from '../../shared/section.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'

/** When there is an alert. */
export function AlertRulesForm() {
  const query = useQuery(alertRulesQuery)
  return (
    <Section title="When">
      <QueryView query={query}>{(rules) => <Rules rules={rules} />}</QueryView>
    </Section>
  )
}

/** Longest threshold, in minutes. */
const maxMinutes = 24 * 60

function Rules({ rules }: { rules: AlertRules }) {
  const form = useForm({ mode: 'controlled', initialValues: toValues(rules) })
  const canChange = useCanChange()
  const save = useChange({
    change: () => saveAlertRules(toRules(form.getValues())),
    stale: ['alerts'],
    done: 'Saved. It counts from the next look on.',
    onDone: () => form.resetDirty(),
  })
  return (
    <form onSubmit={form.onSubmit(() => save.mutate())}>
      <Stack>
        <NumberInput
          label="An endpoint fails for so many minutes"
          description="Empty: no alert"
          min={0}
          max={maxMinutes}
          maw={320}
          disabled={!canChange}
          {...form.getInputProps('endpointMinutes')}
        />
        <NumberInput
          label="An event waits in the inbox for so many minutes"
          description="Empty: no alert"
          min={0}
          max={maxMinutes}
          maw={320}
          disabled={!canChange}
          {...form.getInputProps('inboxMinutes')}
        />
        <Switch
          label="A destination is held because it fails"
          disabled={!canChange}
          {...form.getInputProps('destinationHeld', { type: 'checkbox' })}
        />
        {canChange && (
          <Group>
            <Button type="submit" loading={save.isPending}>
              Save rules
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  )
}

interface RuleValues {
  endpointMinutes: number | string
  inboxMinutes: number | string
  destinationHeld: boolean
}

const toMinutes = (seconds: number | null): number | string => (seconds === null ? '' : seconds / 60)
const toSeconds = (minutes: number | string): number | null =>
  minutes === '' ? null : Math.round(Number(minutes) * 60)

const toValues = (rules: AlertRules): RuleValues => ({
  endpointMinutes: toMinutes(rules.endpointFailingAfterSeconds),
  inboxMinutes: toMinutes(rules.inboxOlderThanSeconds),
  destinationHeld: rules.destinationHeld,
})

const toRules = ({ endpointMinutes, inboxMinutes, destinationHeld }: RuleValues): AlertRules => ({
  endpointFailingAfterSeconds: toSeconds(endpointMinutes),
  inboxOlderThanSeconds: toSeconds(inboxMinutes),
  destinationHeld,
})
