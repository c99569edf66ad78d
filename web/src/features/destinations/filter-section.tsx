import { Button, Group, SegmentedControl, Stack, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Destination } from '../../../../src/schemas/destination.ts'
import type { Filter } from '../../../../src/schemas/filter.ts'
import { changeDestination, destinationQuery } from '../../api/destinations.ts'
import type { Tagged } from '../../api/request.ts'
import { ChangedMeanwhile, isChangedMeanwhile } from '../../shared/changed-meanwhile.tsx'
import { explain } from '../../shared/error-notice.tsx'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { Section } from '../../shared/section.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { FilterFields } from './filter-fields.tsx'
import { RehearsalPanel } from './rehearsal.tsx'
import { emptyFilter, filterField, toFilter, toFilterValues, type FilterValues } from './filter-form.ts'

type Mode = 'form' | 'json'

/** How a draft is edited: as a form as long as it fits into one, or as JSON. */
interface Draft {
  mode: Mode
  json: string
}

const draftOf = (filter: Filter | null): Draft => ({
  mode: toFilterValues(filter) === undefined ? 'json' : 'form',
  json: textOf(filter),
})

const textOf = (filter: Filter | null): string => (filter === null ? '' : JSON.stringify(filter, null, 2))

/** Which events of its sources a destination takes. */
export function FilterSection({ destination }: { destination: Tagged<Destination> }) {
  const client = useQueryClient()
  const [loaded, setLoaded] = useState(destination)
  const [draft, setDraft] = useState(() => draftOf(destination.answer.filter))
  const [problem, setProblem] = useState<string>()
  const form = useForm<FilterValues>({
    mode: 'controlled',
    initialValues: toFilterValues(destination.answer.filter) ?? emptyFilter(),
  })
  const { id, filter: saved } = loaded.answer
  const load = (next: Tagged<Destination>): void => {
    const values = toFilterValues(next.answer.filter) ?? emptyFilter()
    form.setInitialValues(values)
    form.setValues(values)
    form.clearErrors()
    setDraft({ ...draftOf(next.answer.filter), ...(draft.mode === 'json' && { mode: 'json' }) })
    setLoaded(next)
    setProblem(undefined)
  }
  const save = useChange({
    change: ({ filter, ifMatch }: { filter: Filter | null; ifMatch: string | null }) =>
      changeDestination(id, { filter }, ifMatch),
    stale: ['destinations'],
    done: 'Saved. It decides about the events that come in from now on.',
    onDone: load,
    onFailed: (error) => setProblem(isChangedMeanwhile(error) ? undefined : place(error)),
  })
  /** In JSON the member that is wrong stands in the sentence. */
  const place = (error: Error): string | undefined =>
    draft.mode === 'json' ? explain(error) : placeError(error, filterField, form.setFieldError)
  const typed = readDraft(draft, form.getValues())
  const submit = (ifMatch: string | null): void => {
    if (typed === undefined) setProblem('This is not JSON: check it for a missing quote, comma or bracket.')
    else save.mutate({ filter: typed, ifMatch })
  }
  const reload = async (): Promise<void> => {
    save.reset()
    load(await client.fetchQuery({ ...destinationQuery(id), staleTime: 0 }))
  }
  const change = (mode: Mode): void => {
    const values = typed === undefined ? undefined : toFilterValues(typed)
    setProblem(undefined)
    if (mode === 'json') setDraft({ mode, json: textOf(typed ?? null) })
    else if (values === undefined) setProblem('A form cannot show these rules. Go on in JSON.')
    else {
      form.setValues(values)
      setDraft({ ...draft, mode })
    }
  }
  const isDirty = draft.mode === 'form' ? form.isDirty() : draft.json.trim() !== textOf(saved)
  return (
    <Section title="Filter">
      <UnsavedGuard isDirty={isDirty} />
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          submit(loaded.etag)
        }}
      >
        <Stack>
          <Text size="sm">
            {saved === null
              ? 'It takes all events of its sources. To leave some out, say which it takes: an event must fit all that you fill in.'
              : 'It takes the events that fit all of this. What no destination takes is under “Turned away” for 24 hours.'}
          </Text>
          <SegmentedControl
            aria-label="Edit the filter as"
            data={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON' },
            ]}
            value={draft.mode}
            onChange={change}
            style={{ alignSelf: 'flex-start' }}
          />
          {draft.mode === 'form' ? (
            <FilterFields form={form} />
          ) : (
            <Textarea
              label="Filter as JSON"
              description="As the API takes it; with all, any and not, rules can be nested. Empty: all events."
              placeholder='{ "events": ["Order *"] }'
              autosize
              minRows={6}
              ff="monospace"
              value={draft.json}
              onChange={({ currentTarget }) => setDraft({ mode: 'json', json: currentTarget.value })}
            />
          )}
          {typed && <RehearsalPanel destinationId={id} filter={typed} />}
          <FormProblem title="Not saved" problem={problem} />
          <ChangedMeanwhile
            error={save.error}
            isSaving={save.isPending}
            onReload={() => void reload()}
            onOverwrite={() => submit(null)}
          />
          <Group>
            <Button type="submit" loading={save.isPending}>
              Save the filter
            </Button>
            {isDirty && (
              <Button variant="default" onClick={() => load(loaded)}>
                Discard changes to the filter
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Section>
  )
}

/** The filter as it is typed; undefined where it is not even JSON. */
function readDraft({ mode, json }: Draft, values: FilterValues): Filter | null | undefined {
  if (mode === 'form') return toFilter(values)
  if (json.trim() === '') return null
  try {
    return JSON.parse(json) as Filter
  } catch {
    return undefined
  }
}
