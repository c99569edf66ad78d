import { Button, Group, SegmentedControl, Text, Textarea } from '@mantine/core'
import { useForm, type UseFormReturnType } from '@mantine/form'
import { useState, type ReactNode } from 'react'
import type { Destination } from '../../../../src/schemas/destination.ts'
import { changeDestination, destinationQuery } from '../../api/destinations.ts'
import type { Tagged } from '../../api/request.ts'
import { ChangedMeanwhile } from '../../shared/changed-meanwhile.tsx'
import { explain } from '../../shared/error-notice.tsx'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { FormStack } from '../../shared/form-stack.tsx'
import { monospaced } from '../../shared/monospaced.ts'
import { Section } from '../../shared/section.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useTaggedForm } from '../../shared/use-tagged-form.ts'
import { labels } from './destination-form.ts'
import type { FilterValues } from './filter-form.ts'
import type { MappingValues } from './mapping-form.ts'
import { RehearsalPanel } from './rehearsal.tsx'

type Member = 'filter' | 'mapping'

/** What is edited: a member of a destination, as a form or as JSON. */
export interface ShapeKind<Name extends Member, Values> {
  name: Name
  title: string
  /** What it says without one, and with one. */
  intro: readonly [string, string]
  /** About the field for JSON. */
  json: { description: string; placeholder: string }
  saved: string
  /** What its results on the newest events are called, and whether they are shown for none, too. */
  tried: { title: string; withNone: boolean }
  /** What is told where the form cannot show it. */
  tooDeep: string
  empty: () => Values
  /** Undefined where a form cannot show it. */
  toValues: (shape: Destination[Name]) => Values | undefined
  /** Undefined where the form says two things of one. */
  toShape: (values: Values) => Destination[Name] | undefined
  /** The form's field for a member that the server found wrong. */
  fieldOf: (path: string, values: Values) => string | undefined
  fields: (form: UseFormReturnType<Values>) => ReactNode
}

type Mode = 'form' | 'json'

/** How a draft is edited: as a form as long as it fits into one, or as JSON. */
interface Draft {
  mode: Mode
  json: string
}

const textOf = (shape: object | null): string => (shape === null ? '' : JSON.stringify(shape, null, 2))

/** Edits the filter or the mapping of a destination, and shows at once what it would make of the newest events. */
export function ShapeSection<Name extends Member, Values extends FilterValues | MappingValues>({
  destination,
  kind,
}: {
  destination: Tagged<Destination>
  kind: ShapeKind<Name, Values>
}) {
  const { name } = kind
  const draftOf = (shape: Destination[Name]): Draft => ({
    mode: kind.toValues(shape) === undefined ? 'json' : 'form',
    json: textOf(shape),
  })
  const valuesOf = (answer: Destination): Values => kind.toValues(answer[name]) ?? kind.empty()
  const [draft, setDraft] = useState(() => draftOf(destination.answer[name]))
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues: valuesOf(destination.answer),
  })
  const { loaded, problem, setProblem, load, reload, tell } = useTaggedForm({
    form,
    current: destination,
    query: destinationQuery(destination.answer.id),
    toValues: valuesOf,
    onLoad: ({ [name]: shape }) => setDraft({ ...draftOf(shape), ...(draft.mode === 'json' && { mode: 'json' }) }),
  })
  const { id, [name]: saved } = loaded.answer
  const save = useChange({
    change: ({ shape, ifMatch }: { shape: Destination[Name]; ifMatch: string | null }) =>
      changeDestination(id, { [name]: shape }, ifMatch),
    stale: ['destinations', 'rehearsal'],
    done: kind.saved,
    onDone: load,
    onFailed: (error) => tell(error, place),
  })
  /** In JSON the member that is wrong stands in the sentence. */
  const place = (error: Error): string | undefined =>
    draft.mode === 'json'
      ? explain(error)
      : placeError(error, (path) => kind.fieldOf(path, form.getValues()), form.setFieldError)
  const typed = readDraft(draft, () => kind.toShape(form.getValues()))
  const unreadable =
    draft.mode === 'json'
      ? 'This is not JSON: check it for a missing quote, comma or bracket.'
      : 'A path stands in two rows. Change or remove one of them.'
  const submit = (ifMatch: string | null): void => {
    if (typed === undefined) setProblem(unreadable)
    else save.mutate({ shape: typed, ifMatch })
  }
  const change = (mode: Mode): void => {
    const values = typed === undefined ? undefined : kind.toValues(typed)
    setProblem(undefined)
    if (mode === 'json' && typed === undefined) setProblem(unreadable)
    else if (mode === 'json') setDraft({ mode, json: textOf(typed ?? null) })
    else if (values === undefined) setProblem(kind.tooDeep)
    else {
      form.setValues(values)
      setDraft({ ...draft, mode })
    }
  }
  const isDirty = draft.mode === 'form' ? form.isDirty() : draft.json.trim() !== textOf(saved)
  return (
    <Section title={kind.title}>
      <UnsavedGuard isDirty={isDirty} />
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          submit(loaded.etag)
        }}
      >
        <FormStack isSaving={save.isPending}>
          <Text size="sm">{kind.intro[saved === null ? 0 : 1]}</Text>
          <SegmentedControl
            aria-label={`Edit the ${name} as`}
            data={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON' },
            ]}
            value={draft.mode}
            onChange={change}
            style={{ alignSelf: 'flex-start' }}
          />
          {draft.mode === 'form' ? (
            kind.fields(form)
          ) : (
            <Textarea
              label={`${kind.title} as JSON`}
              {...kind.json}
              autosize
              minRows={6}
              styles={monospaced}
              value={draft.json}
              onChange={({ currentTarget }) => setDraft({ mode: 'json', json: currentTarget.value })}
            />
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
            onOverwrite={() => submit(null)}
          />
          <Group>
            <Button type="submit" loading={save.isPending}>
              Save the {name}
            </Button>
            {isDirty && (
              <Button variant="default" onClick={() => load(loaded)}>
                Discard changes to the {name}
              </Button>
            )}
          </Group>
          {/* Below the buttons: it comes and goes with what is typed, and would push them away from a click. */}
          {typed !== undefined && (typed !== null || kind.tried.withNone) && (
            <RehearsalPanel
              destinationId={id}
              draft={{ [name]: typed }}
              isJson={draft.mode === 'json'}
              title={kind.tried.title}
            />
          )}
        </FormStack>
      </form>
    </Section>
  )
}

/** What is typed; undefined where it is not even JSON. */
function readDraft<Shape>({ mode, json }: Draft, fromForm: () => Shape | undefined): Shape | null | undefined {
  if (mode === 'form') return fromForm()
  if (json.trim() === '') return null
  try {
    return JSON.parse(json) as Shape
  } catch {
    return undefined
  }
}
