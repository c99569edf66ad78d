import { Group, Paper, Stack, Text, ThemeIcon, Title, VisuallyHidden } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { Source } from '../../../../src/schemas/source.ts'
import type { Onboarding } from '../../../../src/schemas/system.ts'
import { ButtonLink } from '../../shared/link.tsx'

interface Props {
  taken: Onboarding
  /** One to send from; undefined while there is none. */
  source: Source | undefined
}

/** The three steps, those that were taken ticked. */
export default function StepsList({ taken, source }: Props) {
  return (
    <Paper withBorder p="lg" component="section" aria-label="First steps">
      <Stack>
        <Title order={2} size="h4">
          Three steps to your first event
        </Title>
        <Step
          number={1}
          isDone={taken.sourceCreated}
          title="Create a source"
          text="A source is a website, app or server that sends events with its own write key."
          action={
            <ButtonLink to="/sources" size="xs">
              Create a source
            </ButtonLink>
          }
        />
        <Step
          number={2}
          isDone={taken.destinationConnected}
          title="Connect a destination"
          text="Enter the URL of your endpoint and test it on the spot."
          action={
            <ButtonLink to="/catalog/webhooks" size="xs">
              Connect Webhooks
            </ButtonLink>
          }
        />
        <Step
          number={3}
          isDone={taken.firstEventDelivered}
          title="Send an event"
          text={
            taken.firstEventReceived
              ? 'An event came in. This step is done as soon as your endpoint has accepted one.'
              : 'Paste the snippet of your source into a terminal and watch the event arrive.'
          }
          action={
            source !== undefined && (
              <ButtonLink to="/sources/$id" params={{ id: source.id }} size="xs">
                Show the snippet
              </ButtonLink>
            )
          }
        />
      </Stack>
    </Paper>
  )
}

interface StepProps {
  number: number
  isDone: boolean
  title: string
  text: string
  action: ReactNode
}

function Step({ number, isDone, title, text, action }: StepProps) {
  return (
    <Group wrap="nowrap" align="flex-start">
      <ThemeIcon radius="xl" size={30} color={isDone ? 'teal.8' : 'gray.7'} variant={isDone ? 'filled' : 'outline'}>
        {isDone ? <IconCheck size={18} aria-hidden /> : number}
      </ThemeIcon>
      <Stack gap={4} align="flex-start">
        <Text fw={600} {...(isDone && { td: 'line-through' })}>
          {title}
          {isDone && <VisuallyHidden> (done)</VisuallyHidden>}
        </Text>
        {!isDone && (
          <>
            <Text size="sm" c="dimmed">
              {text}
            </Text>
            {action}
          </>
        )}
      </Stack>
    </Group>
  )
}
