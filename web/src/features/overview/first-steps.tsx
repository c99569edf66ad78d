import { Group, Paper, Stack, Text, ThemeIcon, Title, VisuallyHidden } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { sourcesQuery } from '../../api/sources.ts'
import { onboardingQuery } from '../../api/system.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { ButtonLink } from '../../shared/link.tsx'

const refreshMs = 3_000

/** Three steps to the first event, each ticked when it really happened; gone when all are. */
export function FirstSteps() {
  const { data } = useQuery({
    ...onboardingQuery,
    refetchInterval: ({ state }) => (state.data?.firstEventDelivered === true ? false : refreshMs),
  })
  const source = useQuery(sourcesQuery).data?.[0]
  const canChange = useCanChange()
  if (!canChange || data === undefined || (data.sourceCreated && data.destinationConnected && data.firstEventDelivered))
    return null
  return (
    <Paper withBorder p="lg" component="section" aria-label="First steps">
      <Stack>
        <Title order={2} size="h4">
          Three steps to your first event
        </Title>
        <Step
          number={1}
          isDone={data.sourceCreated}
          title="Create a source"
          text="It stands for the website, app or server that sends events, and has a write key."
          action={
            <ButtonLink to="/sources" size="xs">
              Create a source
            </ButtonLink>
          }
        />
        <Step
          number={2}
          isDone={data.destinationConnected}
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
          isDone={data.firstEventDelivered}
          title="Send an event"
          text={
            data.firstEventReceived
              ? 'An event came in. This is ticked as soon as your endpoint has taken one.'
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
