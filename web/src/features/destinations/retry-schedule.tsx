import { Group, Text } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { statusQuery } from '../../api/system.ts'
import { formatSpan } from '../../shared/time.tsx'
import type { DestinationValues } from './destination-form.ts'
import { attemptsIn, retryOf } from './expected-attempts.ts'
import { WholeNumberField } from './whole-number-field.tsx'

/** Longest retry window, in hours. */
const maxWindowHours = 72

/** Bounds of the pauses, in seconds. */
const maxFirstSeconds = 3_600
const longestSeconds = { min: 10, max: 43_200 }

/** For how long an event is retried, how often, and what comes of it. */
export function RetrySchedule({ form }: { form: UseFormReturnType<DestinationValues> }) {
  const ofNode = useQuery(statusQuery).data?.retry
  const retry = ofNode && retryOf(form.getValues(), ofNode)
  return (
    <>
      <WholeNumberField
        form={form}
        path="retryWindowHours"
        label="Retry window"
        description="How long after its first attempt an event is retried, 1 to 72 hours; empty: as the node is set up"
        min={1}
        max={maxWindowHours}
        suffix=" h"
      />
      <Group align="start">
        <WholeNumberField
          form={form}
          path="retryPauses.firstSeconds"
          label="First pause"
          description="Each further one is twice as long; empty: as the node is set up"
          min={1}
          max={maxFirstSeconds}
          suffix=" s"
        />
        <WholeNumberField
          form={form}
          path="retryPauses.maxSeconds"
          label="Longest pause"
          description="Pauses grow no further; empty: as the node is set up"
          min={longestSeconds.min}
          max={longestSeconds.max}
          suffix=" s"
        />
      </Group>
      {retry && (
        <Text size="sm" c="dimmed">
          An endpoint that fails all the time gets about {attemptsIn(retry)} attempts in {formatSpan(retry.windowMs)}:
          the first pause is {formatSpan(retry.initialMs)}, the longest {formatSpan(retry.maxMs)}.
        </Text>
      )}
    </>
  )
}
