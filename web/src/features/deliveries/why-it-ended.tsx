import { Alert } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { DeliveryDetail } from '../../../../src/schemas/delivery.ts'
import { statusQuery } from '../../api/system.ts'
import { formatSpan, formatTime } from '../../shared/time.tsx'

/** Client errors that speak of the moment: they are tried again. */
const passing = new Set([408, 425, 429])

/** Whether a failed delivery could have been tried on, and until when one that waits is. */
export function WhyItEnded({ delivery }: { delivery: DeliveryDetail }) {
  const retry = useQuery(statusQuery).data?.retry
  const { status, timeline } = delivery
  const first = timeline[0]
  if (status === 'retrying' && retry !== undefined && first !== undefined)
    return (
      <Alert color="yellow">
        It will be tried again until {formatTime(new Date(Date.parse(first.at) + retry.windowMs).toISOString())},{' '}
        {formatSpan(retry.windowMs)} after its first attempt; time in which its destination is paused does not count.
      </Alert>
    )
  if (status !== 'failed') return null
  const final = finalStatus(timeline)
  return (
    <Alert color="red">
      {final === undefined
        ? 'It will not be tried again: the time for retries is over, or the failure is one that does not pass by itself.'
        : `HTTP ${final} is final: it will not be tried again. Only answers of 408, 425, 429 and 5xx are retried.`}{' '}
      Once the cause is fixed, you can redeliver it.
    </Alert>
  )
}

/** A status that ends the attempts of the endpoint that gave it. */
function finalStatus(timeline: DeliveryDetail['timeline']): number | undefined {
  const statuses = timeline.flatMap(({ status }) => (status === null ? [] : [status]))
  return statuses.findLast((status) => status >= 300 && status < 500 && !passing.has(status))
}
