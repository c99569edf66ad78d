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

interface Props {
  form: UseFormReturnType<DestinationValues>
  /** Place of the endpoint in the form whose schedule it is; absent: it is that of the destination. */
  endpoint?: number
}

/** For how long an event is retried, how often, and what comes of it. */
export function RetrySchedule({ form, endpoint }: Props) {
  const ofNode = useQuery(statusQuery).data?.retry
  const values = form.getValues()
  const isOfEndpoint = endpoint !== undefined
  const options = isOfEndpoint ? values.webhooks[endpoint]?.options : undefined
  const retry = ofNode && retryOf(ofNode, values, options)
  const path = isOfEndpoint ? `webhooks.${endpoint}.options.` : ''
  const otherwise = isOfEndpoint ? 'as at the destination' : 'as the node is set up'
  return (
    <>
      <WholeNumberField
        form={form}
        path={`${path}retryWindowHours`}
        label="Retry window"
        description={`How long after its first attempt an event is retried, 1 to 72 hours; empty: ${otherwise}`}
        min={1}
        max={maxWindowHours}
        suffix=" h"
      />
      <Group align="start">
        <WholeNumberField
          form={form}
          path={`${path}retryPauses.firstSeconds`}
          label="First pause"
          description={`Each further one is twice as long; leave both empty: ${otherwise}`}
          min={1}
          max={maxFirstSeconds}
          suffix=" s"
        />
        <WholeNumberField
          form={form}
          path={`${path}retryPauses.maxSeconds`}
          label="Longest pause"
          description={`Pauses grow no further; leave both empty: ${otherwise}`}
          min={longestSeconds.min}
          max={longestSeconds.max}
          suffix=" s"
        />
      </Group>
      {retry && (
        <Text size="sm" c="dimmed">
          An event that fails {isOfEndpoint && 'here '}all the time gets about {attemptsIn(retry)} attempts in{' '}
          {formatSpan(retry.windowMs)}: the first pause is {formatSpan(retry.initialMs)}, the longest{' '}
          {formatSpan(retry.maxMs)}. Once its endpoint is down, it gets fewer.
        </Text>
      )}
    </>
  )
}
