import { Alert, Button, Checkbox, Fieldset, Group, Stack, Stepper, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMediaQuery } from '@mantine/hooks'
import { IconCircleCheck, IconLock } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import type { Destination } from '../../../../src/schemas/destination.ts'
import {
  changeDestination,
  createDestination,
  deleteDestination,
  destinationQuery,
  destinationsQuery,
  saveDestination,
} from '../../api/destinations.ts'
import { isMissing, isUnreachable } from '../../api/request.ts'
import { ChangedMeanwhile, isChangedMeanwhile } from '../../shared/changed-meanwhile.tsx'
import { confirm } from '../../shared/confirm.tsx'
import { EmptyState } from '../../shared/empty-state.tsx'
import { explain } from '../../shared/error-notice.tsx'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { ButtonLink } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { Section } from '../../shared/section.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { checkStep, freeName } from './check-step.ts'
import { dropDraft, keepDraft, readDraft, type UnansweredSave } from './connect-draft.ts'
import {
  emptyDestination,
  fieldOf,
  labels,
  toNewDestination,
  toPatch,
  toValues,
  type DestinationValues,
} from './destination-form.ts'
import { EndpointFields } from './endpoint-fields.tsx'
import { EndpointTestPanel } from './endpoint-test.tsx'
import { SecretField } from './secret-field.tsx'
import { SourceChoice } from './source-choice.tsx'
import { SuccessPolicy } from './success-policy.tsx'

/** The step whose "Next" saves: from then on the endpoints can be tested. */
const lastFormStep = 2
const testStep = 3

/** Where a step begins for the keyboard. */
const firstOfStep = 'section :is(input, button, a[href]):not(:disabled)'

export function ConnectPage() {
  const canChange = useCanChange()
  const [run, setRun] = useState(0)
  if (!canChange) return <NotForViewers />
  const startOver = (): void => {
    dropDraft()
    setRun(run + 1)
  }
  return <ConnectWizard key={run} onStartOver={startOver} />
}

const NotForViewers = () => (
  <>
    <PageHeader title="Connect Webhooks" />
    <EmptyState
      icon={<IconLock aria-hidden />}
      title="Only administrators can connect a destination"
      action={<ButtonLink to="/destinations">See the destinations</ButtonLink>}
    >
      Viewers can look at everything but change nothing. Ask an administrator, or sign in with an admin token.
    </EmptyState>
  </>
)

/** Webhooks, connected step by step: sources, endpoints, secret, test, switch on. */
function ConnectWizard({ onStartOver }: { onStartOver: () => void }) {
  const [draft] = useState(readDraft)
  const [reached, setStep] = useState(draft?.step ?? 0)
  const [isForAudiences, setForAudiences] = useState(draft?.isForAudiences ?? false)
  const [savedId, setSavedId] = useState(draft?.destinationId ?? null)
  const [etag, setEtag] = useState(draft?.etag ?? null)
  const [isSecretSaved, setSecretSaved] = useState(draft?.hasSecret ?? false)
  const [savedSecret, setSavedSecret] = useState('')
  const [unanswered, setUnanswered] = useState(draft?.unanswered ?? [])
  const { data: destinations } = useQuery(destinationsQuery)
  const made = destinations?.find((one) => unanswered.some((save) => isMadeBy(save, one)))
  if (made !== undefined) {
    // Once it is found it stays the one, whatever it is called later.
    setUnanswered([])
    setSavedId(made.id)
    setSecretSaved(made.settings.hasSharedSecret)
    setEtag(null)
  }
  const { data: saved, error: missing } = useQuery({ ...destinationQuery(savedId ?? ''), enabled: savedId !== null })
  // What was deleted elsewhere is made anew, with a secret only where it still stands in the form.
  const isDeleted = savedId !== null && isMissing(missing)
  const destinationId = isDeleted ? null : savedId
  const hasSecret = isSecretSaved && !isDeleted
  const step = isDeleted ? Math.min(reached, lastFormStep) : reached
  const [switchedOn, setSwitchedOn] = useState<Destination>()
  const [problem, setProblem] = useState<string>()
  const isNarrow = useMediaQuery('(max-width: 48em)')
  const form = useForm<DestinationValues>({
    mode: 'controlled',
    initialValues: draft?.values ?? emptyDestination(),
  })
  const values = form.getValues()
  // It may have been switched on elsewhere, as in a copy of this tab.
  const connected = switchedOn ?? (step === testStep && saved?.answer.enabled === true ? saved.answer : undefined)
  const isOn = connected !== undefined
  const isSecretLost = draft?.lacksSecret === true || (isSecretSaved && isDeleted)
  const isSavedSecretShown = hasSecret && savedSecret !== '' && values.sharedSecret === savedSecret
  const lacksSecret = isSecretLost && values.sharedSecret === '' && !hasSecret
  const taken = (destinations ?? []).flatMap(({ id, name }) => (id === destinationId ? [] : [name]))
  const hasName = useRef(draft !== undefined)
  const nameField = useRef<HTMLInputElement>(null)
  // Between the look at what is focused and the change nobody can begin to type.
  useLayoutEffect(() => {
    if (hasName.current || destinations === undefined) return
    hasName.current = true
    const free = freeName(values.name, taken)
    // A name that was typed meanwhile stays, and nothing changes under the hands of who types: where it is taken the step says so.
    if (free === values.name || form.isDirty('name') || document.activeElement === nameField.current) return
    form.setInitialValues({ ...values, name: free })
    form.setFieldValue('name', free)
  })
  const steps = useRef<HTMLDivElement>(null)
  const shownStep = useRef(step)
  useEffect(() => {
    if (shownStep.current === step) return
    shownStep.current = step
    // The button that led here means something else now.
    steps.current?.querySelector<HTMLElement>(firstOfStep)?.focus()
  }, [step])
  const isBegun = draft !== undefined || step > 0 || isForAudiences || form.isDirty()
  // Whoever sees what was saved may leave at once: the draft knows it by then.
  useLayoutEffect(() => {
    if (!isBegun || isOn) return dropDraft()
    const typed = isSavedSecretShown ? { ...values, sharedSecret: '' } : values
    keepDraft({ step, values: typed, isForAudiences, destinationId, unanswered, etag, hasSecret, lacksSecret })
  }, [
    isOn,
    isBegun,
    step,
    values,
    isForAudiences,
    destinationId,
    unanswered,
    etag,
    hasSecret,
    lacksSecret,
    isSavedSecretShown,
  ])

  const client = useQueryClient()
  const save = useChange({
    change: (ifMatch: string | null) =>
      destinationId === null
        ? createDestination(toNewDestination(values))
        : saveDestination(
            destinationId,
            toPatch(isSavedSecretShown ? { ...values, sharedSecret: '' } : values),
            ifMatch,
          ),
    stale: ['destinations', 'sources'],
    onDone: ({ answer, etag: savedTag }) => {
      setUnanswered([])
      setSavedId(answer.id)
      setEtag(savedTag)
      setSecretSaved(answer.settings.hasSharedSecret)
      setProblem(undefined)
      form.setFieldValue('webhooks', withIds(values.webhooks, answer))
      setSavedSecret(values.sharedSecret)
      setStep(testStep)
    },
    onFailed: (error) => {
      if (isChangedMeanwhile(error)) return setProblem(undefined)
      if (destinationId === null && isUnreachable(error)) setUnanswered([...unanswered, unansweredSave(values)])
      setProblem(placeError(error, (path) => fieldOf(path, values), form.setFieldError))
      setStep(stepOf(error))
    },
  })
  /** Goes on with what others saved meanwhile. */
  const takeTheirs = async (id: string): Promise<void> => {
    const { answer, etag: theirTag } = await client.fetchQuery({ ...destinationQuery(id), staleTime: 0 })
    form.setValues(toValues(answer))
    setSecretSaved(answer.settings.hasSharedSecret)
    setEtag(theirTag)
    save.reset()
  }
  const switchOn = useChange({
    change: (id: string) => changeDestination(id, { enabled: true }),
    stale: ['destinations'],
    onDone: ({ answer }) => {
      setSwitchedOn(answer)
    },
  })

  const isComplete = (checked: number): boolean => {
    const errors = checkStep(checked, values, isForAudiences, taken)
    flushSync(() => form.setErrors(errors))
    return Object.keys(errors).length === 0
  }
  const goOn = (): void => {
    if (save.isPending) return
    if (!isComplete(step)) return steps.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
    if (step === lastFormStep) save.mutate(etag)
    else setStep(step + 1)
  }

  if (connected !== undefined) return <Connected destination={connected} />
  return (
    <>
      <PageHeader
        title="Connect Webhooks"
        description="Sends events to your own HTTP endpoints. All source types can use it."
        actions={
          draft !== undefined && (
            <StartOver
              isKnown={(destinationId === null || destinations !== undefined) && !switchOn.isPending}
              saved={destinations?.find(({ id, enabled }) => id === destinationId && !enabled)}
              onStartOver={onStartOver}
            />
          )
        }
      />
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (step < testStep) goOn()
        }}
      >
        {/* What is typed while it is saved or switched on would be lost in what comes next. */}
        <Fieldset variant="unstyled" disabled={switchOn.isPending || (save.isPending && step < testStep)}>
          <Stepper
            ref={steps}
            active={step}
            onStepClick={(next) => next < step && setStep(next)}
            allowNextStepsSelect={false}
            size="sm"
            mb="lg"
            orientation={isNarrow ? 'vertical' : 'horizontal'}
          >
            <Stepper.Step label="Sources" description="Which events">
              <Section title="Which sources should it get events from?">
                <TextInput
                  ref={nameField}
                  label="Name of the destination"
                  required
                  maw={420}
                  key={form.key('name')}
                  {...form.getInputProps('name')}
                />
                <SourceChoice form={form} />
                <Checkbox
                  label="No source: this destination only gets audiences"
                  checked={isForAudiences}
                  disabled={values.sourceIds.length > 0}
                  onChange={({ currentTarget }) => setForAudiences(currentTarget.checked)}
                />
              </Section>
            </Stepper.Step>
            <Stepper.Step label="Endpoints" description="Up to five URLs">
              <Section title="Where should they go?">
                <EndpointFields form={form} destinationId={destinationId ?? undefined} />
                {values.webhooks.length > 1 && <SuccessPolicy form={form} />}
              </Section>
            </Stepper.Step>
            <Stepper.Step label="Signature" description="Optional secret">
              <Section title="Should requests be signed?">
                <div>
                  <SecretField form={form} isSet={hasSecret && !isSavedSecretShown} isSaved={isSavedSecretShown} />
                  {lacksSecret && (
                    <Alert color="yellow" mt="sm">
                      The secret that you had entered was not kept when the page was reloaded. Enter it again, or
                      generate another one.
                    </Alert>
                  )}
                </div>
              </Section>
            </Stepper.Step>
            <Stepper.Step label="Test" description="And switch on">
              <Section title="Does it arrive?">
                <Text>
                  The destination is saved but switched off: only your tests are sent. Go back to correct what a test
                  shows.
                </Text>
                {destinationId !== null && <EndpointTestPanel destinationId={destinationId} />}
              </Section>
            </Stepper.Step>
          </Stepper>
          <FormProblem
            title="This destination was deleted elsewhere"
            problem={isDeleted ? 'Save it again to go on: it is made anew.' : undefined}
          />
          <FormProblem title="Not saved" problem={problem} />
          {step === lastFormStep && destinationId !== null && (
            <ChangedMeanwhile
              error={save.error}
              labels={labels}
              isSaving={save.isPending}
              onReload={() => void takeTheirs(destinationId).catch((error: Error) => setProblem(explain(error)))}
              onOverwrite={() => save.mutate(null)}
            />
          )}
          <Group justify="space-between" mt="md">
            <Button variant="default" disabled={step === 0} onClick={() => setStep(step - 1)}>
              Back
            </Button>
            {step < testStep ? (
              <Button type="submit" loading={save.isPending}>
                {step === lastFormStep ? 'Save and test' : 'Next'}
              </Button>
            ) : (
              <Button
                loading={switchOn.isPending}
                onClick={() => destinationId !== null && switchOn.mutate(destinationId)}
              >
                Switch on
              </Button>
            )}
          </Group>
        </Fieldset>
      </form>
    </>
  )
}

/** Leaves nothing behind of what was begun.
 *  @param saved  the destination that it made, which is still switched off */
interface StartOverProps {
  /** Whether it is known what was saved, and that it is off. */
  isKnown: boolean
  saved: Destination | undefined
  onStartOver: () => void
}

function StartOver({ isKnown, saved, onStartOver }: StartOverProps) {
  const client = useQueryClient()
  const remove = useChange({
    change: (id: string) => deleteDestination(id),
    stale: ['destinations'],
    onDone: async () => {
      // Its name is free from then on.
      await client.refetchQueries({ queryKey: destinationsQuery.queryKey, exact: true })
      onStartOver()
    },
  })
  return (
    <Button
      variant="subtle"
      disabled={!isKnown}
      loading={remove.isPending}
      onClick={() =>
        confirm({
          title: 'Start over?',
          text: `What you have entered is lost.${saved === undefined ? '' : ` ${saved.name} was saved, and is deleted: it is off, so no events are sent to it.`}`,
          yes: saved === undefined ? 'Start over' : 'Delete it and start over',
          onYes: () => (saved === undefined ? onStartOver() : remove.mutate(saved.id)),
        })
      }
    >
      Start over
    </Button>
  )
}

/** The entries that were just saved have ids now; with them they keep their headers and their history. */
const withIds = (webhooks: DestinationValues['webhooks'], { settings }: Destination): DestinationValues['webhooks'] =>
  webhooks
    .filter(({ url }) => url.trim() !== '')
    .map((webhook, index) => {
      const id = settings.webhooks[index]?.id
      return id === undefined ? webhook : { ...webhook, id }
    })

const unansweredSave = ({ name, webhooks }: DestinationValues): UnansweredSave => ({
  name: name.trim(),
  urls: webhooks.map(({ url }) => url.trim()).filter((url) => url !== ''),
})

/** Whether it is what that save made: no other one has its name. */
const isMadeBy = ({ name, urls }: UnansweredSave, destination: Destination): boolean =>
  !destination.enabled &&
  destination.name === name &&
  urls.every((url, index) => destination.settings.webhooks[index]?.url === url)

/** Where the field is that the server found wrong; the last step of the form for what is wrong with the whole. */
function stepOf(error: Error): number {
  const path = 'path' in error && typeof error.path === 'string' ? error.path : ''
  if (path.startsWith('settings.webhooks')) return 1
  return path === 'name' || path.startsWith('sourceIds') ? 0 : lastFormStep
}

/** What becomes of events from now on: it may have been given a filter or paused elsewhere, while it was off. */
function whatIsSent({ sourceIds, filter, paused }: Destination): string {
  if (sourceIds.length === 0)
    return 'It has no source, so no events are sent to it. Add it to an audience to send the members.'
  const which = filter === null ? 'every event of its sources' : 'every event of its sources that fits its filter'
  if (paused) return `It is paused: ${which} waits from now on, and is sent once it is resumed.`
  return `From now on, ${which} is sent to its endpoints.`
}

function Connected({ destination }: { destination: Destination }) {
  const hasSources = destination.sourceIds.length > 0
  const ways = useRef<HTMLDivElement>(null)
  // The button that led here is gone.
  useEffect(() => {
    if (document.activeElement === document.body) ways.current?.querySelector('a')?.focus()
  }, [])
  return (
    <>
      <PageHeader title="Connected" />
      <Alert color="teal" icon={<IconCircleCheck aria-hidden />} title={`${destination.name} is on`}>
        <Stack>
          <Text size="sm">{whatIsSent(destination)}</Text>
          <Group ref={ways}>
            {!hasSources && <ButtonLink to="/audiences">Open the audiences</ButtonLink>}
            <ButtonLink
              to="/deliveries"
              search={{ destinationId: destination.id }}
              variant={hasSources ? 'filled' : 'default'}
            >
              Watch its deliveries
            </ButtonLink>
            <ButtonLink to="/destinations/$id" params={{ id: destination.id }} variant="default">
              Open the destination
            </ButtonLink>
            {destination.sourceIds[0] !== undefined && (
              <ButtonLink to="/sources/$id" params={{ id: destination.sourceIds[0] }} variant="default">
                Send an event
              </ButtonLink>
            )}
          </Group>
        </Stack>
      </Alert>
    </>
  )
}
