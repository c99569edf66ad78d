import { Alert } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { DeliveryDetail, DeliveryEndpoint } from '../../../../src/schemas/delivery.ts'
import { statusQuery } from '../../api/system.ts'
import { formatSpan, formatTime } from '../../shared/time.tsx'
import { useCanChange } from '../../shared/use-role.ts'

/** The reason of an endpoint that its destination has no longer. */
const removed = 'the endpoint was removed from its destination'

/** Which endpoints of a delivery are not tried again and why, and until when the others are. */
export function WhyItEnded({ delivery }: { delivery: DeliveryDetail }) {
  const retry = useQuery(statusQuery).data?.retry
  const canChange = useCanChange()
  const { status, destinations, erased, retryWindowMs = retry?.windowMs } = delivery
  if (status === 'retrying' && retryWindowMs !== undefined) {
    const end = windowEnd(delivery, retryWindowMs)
    const ended = missed(delivery)
    if (end === undefined && ended.length === 0) return null
    return (
      <Alert color="yellow" style={{ overflowWrap: 'anywhere' }}>
        {tellEnds(ended)}
        {ended.length === 0 && destinations.every(isOpen) ? 'It' : 'What is left'} will be tried again
        {end === undefined ? '.' : tellWindow(end)}
      </Alert>
    )
  }
  if (status !== 'failed' && status !== 'partly_delivered') return null
  const ended = missed(delivery)
  const isOneOfOne = delivery.destinations.flatMap(({ endpoints }) => endpoints).length === 1
  return (
    <Alert color="red" style={{ overflowWrap: 'anywhere' }}>
      {isOneOfOne ? ended.map(tellOnlyEnd) : tellEnds(ended)}
      {ended.some(({ isRefused }) => isRefused) && 'Only answers of 408, 425, 429 and 5xx are retried. '}
      {status === 'partly_delivered' && 'What another destination took stays taken. '}
      {canChange && !erased && 'Once the cause is fixed, you can redeliver it.'}
    </Alert>
  )
}

const settled: ReadonlySet<DeliveryEndpoint['status']> = new Set([
  'delivered',
  'failed',
  'superseded',
  'discarded',
  'cancelled',
])

const isOpen = ({ status }: Pick<DeliveryEndpoint, 'status'>): boolean => !settled.has(status)

interface WindowEnd {
  /** In milliseconds since 1970. */
  at: number
  windowMs: number
}

/** When the last attempt may be made where it is not settled; undefined before the first one there. Time runs at each destination from its
 *  first attempt on, and a destination may have a window of its own, as may each of its endpoints. */
function windowEnd({ destinations, timeline }: DeliveryDetail, ofDeliveryMs: number): WindowEnd | undefined {
  const ends = destinations.flatMap(({ status, retryWindowMs = ofDeliveryMs, endpoints }) => {
    const first = timeline.find((attempt) => endpoints.some(({ endpointId }) => endpointId === attempt.endpointId))
    if (first === undefined || status !== 'retrying') return []
    return endpoints.filter(isOpen).map((endpoint) => {
      const windowMs = endpoint.retryWindowMs ?? retryWindowMs
      return { at: Date.parse(first.at) + windowMs, windowMs }
    })
  })
  return ends.sort((one, other) => other.at - one.at)[0]
}

const tellWindow = ({ at, windowMs }: WindowEnd): string =>
  ` until ${formatTime(at)}, ${formatSpan(windowMs)} after its first attempt; time in which its destination is paused does not count.`

/** An endpoint that did not take the event and is not tried again. */
interface Missed {
  url: string
  /** What ended its attempts. */
  cause: string
  /** Whether it was its answer. */
  isRefused: boolean
}

/** Those at destinations that did not get the event; of the others, one endpoint was enough. */
const missed = ({ destinations, timeline }: DeliveryDetail): Missed[] =>
  destinations
    .filter(({ status }) => status !== 'delivered')
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ status }) => status === 'failed')
    .map((endpoint) => missedAt(endpoint, timeline))

function missedAt({ endpointId, url, reason }: DeliveryEndpoint, timeline: DeliveryDetail['timeline']): Missed {
  const last = timeline.findLast((attempt) => attempt.endpointId === endpointId)
  const at = last?.url ?? url ?? 'A deleted endpoint'
  if (reason === removed) return { url: at, cause: 'it was removed from its destination', isRefused: false }
  // What keeps attempts away passes by itself.
  if (last === undefined && reason?.startsWith('not attempted') === true)
    return { url: at, cause: ends.false, isRefused: false }
  const { status = null, error = null } = last ?? {}
  // What ended it may have come after its last attempt, as a mapping that fails.
  const isFinal = last?.isFinal === false && reason !== error ? null : (last?.isFinal ?? null)
  if (isFinal !== true || status === null) return { url: at, cause: ends[`${isFinal ?? 'unknown'}`], isRefused: false }
  return { url: at, cause: `the answer HTTP ${status} is final`, isRefused: true }
}

/** What ended the attempts of an endpoint, by whether its last failure was final: of an early version that is not known. */
const ends = {
  true: 'the failure is one that does not pass by itself',
  false: 'the time for retries is over',
  unknown: 'the time for retries is over, or the failure is one that does not pass by itself',
}

const tellOnlyEnd = ({ cause }: Missed): string => `It will not be tried again: ${cause}. `

/** Several destinations may have one URL: what is the same of all of them is told once. */
const tellEnds = (ended: readonly Missed[]): string[] => [...new Set(ended.map(tellEnd))]

const tellEnd = ({ url, cause }: Missed): string => `${url} is not tried again: ${cause}. `
