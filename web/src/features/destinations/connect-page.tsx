import { Alert, Button, Group, Radio, Stack, Stepper, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMediaQuery } from '@mantine/hooks'
import { IconCircleCheck } from '@tabler/icons-react'
import { useState } from 'react'
import type { Destination } from '../../../../src/schemas/destination.ts'
import { changeDestination, createDestination } from '../../api/destinations.ts'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { ButtonLink } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { Section } from '../../shared/section.tsx'
import { useChange } from '../../shared/use-change.ts'
import { emptyDestination, fieldOf, toNewDestination, toPatch, type DestinationValues } from './destination-form.ts'
import { EndpointFields } from './endpoint-fields.tsx'
import { EndpointTestPanel } from './endpoint-test.tsx'
import { SecretField } from './secret-field.tsx'
import { SourceChoice } from './source-choice.tsx'

/** The step whose "Next" saves: from then on the endpoints can be tested. */
const lastFormStep = 2
const testStep = 3

/** Webhooks, connected step by step: sources, endpoints, secret, test, switch on. */
export function ConnectPage() {
  const [step, setStep] = useState(0)
  const isNarrow = useMediaQuery('(max-width: 48em)')
  const [destination, setDestination] = useState<Destination>()
  const [problem, setProblem] = useState<string>()
  const form = useForm<DestinationValues>({ mode: 'controlled', initialValues: emptyDestination() })

  const save = useChange({
    change: (values: DestinationValues) =>
      destination === undefined
        ? createDestination(toNewDestination(values))
        : changeDestination(destination.id, toPatch(values)),
    stale: ['destinations'],
    onDone: (saved) => {
      setDestination(saved)
      setProblem(undefined)
      form.setFieldValue('webhooks', withIds(form.getValues().webhooks, saved))
      setStep(testStep)
    },
    onFailed: (error) => {
      const values = form.getValues()
      setProblem(placeError(error, (path) => fieldOf(path, values), form.setFieldError))
      setStep(stepOf(error))
    },
  })
  const switchOn = useChange({
    change: (id: string) => changeDestination(id, { enabled: true }),
    stale: ['destinations'],
    onDone: setDestination,
  })

  const isComplete = (): boolean => {
    if (step === 1 && form.getValues().webhooks.every(({ url }) => url.trim() === '')) {
      form.setFieldError('webhooks.0.url', 'Enter the URL of at least one endpoint')
      return false
    }
    return true
  }
  const goOn = (): void => {
    if (!isComplete()) return
    if (step === lastFormStep) save.mutate(form.getValues())
    else setStep(step + 1)
  }

  if (destination?.enabled === true) return <Connected destination={destination} />
  return (
    <>
      <PageHeader
        title="Connect Webhooks"
        description="Sends events to your own HTTP endpoints, signed, in cloud mode. All source types can use it."
      />
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (step < testStep) goOn()
        }}
      >
        <Stepper
          active={step}
          onStepClick={setStep}
          allowNextStepsSelect={false}
          size="sm"
          mb="lg"
          orientation={isNarrow ? 'vertical' : 'horizontal'}
        >
          <Stepper.Step label="Sources" description="Whose events">
            <Section title="Whose events should be sent?">
              <TextInput
                label="Name of the destination"
                required
                maw={420}
                key={form.key('name')}
                {...form.getInputProps('name')}
              />
              <SourceChoice form={form} />
            </Section>
          </Stepper.Step>
          <Stepper.Step label="Endpoints" description="Up to five URLs">
            <Section title="Where should they go?">
              <EndpointFields form={form} destinationId={destination?.id} />
              {form.getValues().webhooks.length > 1 && <SuccessPolicy form={form} />}
            </Section>
          </Stepper.Step>
          <Stepper.Step label="Signature" description="Optional secret">
            <Section title="Should requests be signed?">
              <div>
                <SecretField form={form} isSet={destination?.settings.hasSharedSecret === true} />
              </div>
            </Section>
          </Stepper.Step>
          <Stepper.Step label="Test" description="And switch on">
            <Section title="Does it arrive?">
              <Text>
                The destination is saved, and off: nothing is sent but your tests. Correct what a test shows by going
                back.
              </Text>
              {destination !== undefined && <EndpointTestPanel destinationId={destination.id} />}
            </Section>
          </Stepper.Step>
        </Stepper>
        <FormProblem title="Not saved" problem={problem} />
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
              onClick={() => destination !== undefined && switchOn.mutate(destination.id)}
            >
              Switch on
            </Button>
          )}
        </Group>
      </form>
    </>
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

/** Where the field is that the server found wrong; the last step of the form for what is wrong with the whole. */
function stepOf(error: Error): number {
  const path = 'path' in error && typeof error.path === 'string' ? error.path : ''
  if (path.startsWith('settings.webhooks')) return 1
  return path === 'name' || path.startsWith('sourceIds') ? 0 : lastFormStep
}

export function SuccessPolicy({ form }: { form: ReturnType<typeof useForm<DestinationValues>> }) {
  return (
    <Radio.Group
      label="When is an event delivered?"
      key={form.key('successPolicy')}
      {...form.getInputProps('successPolicy')}
    >
      <Stack gap="xs" mt="xs">
        <Radio value="any" label="As soon as one endpoint took it" />
        <Radio value="all" label="When every endpoint took it" />
      </Stack>
    </Radio.Group>
  )
}

function Connected({ destination }: { destination: Destination }) {
  return (
    <>
      <PageHeader title="Connected" />
      <Alert color="teal" icon={<IconCircleCheck aria-hidden />} title={`${destination.name} is on`}>
        <Stack>
          <Text size="sm">From now on, every event of its sources is sent to its endpoints.</Text>
          <Group>
            <ButtonLink to="/deliveries" search={{ destinationId: destination.id }}>
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
