/** What pages have to show of a night: derived from what receivers got and what the operator did, from nothing else. */

import type { Endpoint, Got, Receivers } from './receivers.ts'
import {
  attemptText,
  byUrl,
  keyOf,
  type ShownDelivery,
  type ShownFailing,
  type ShownFailure,
  type ShownRow,
} from './screen.ts'

/** A destination with one endpoint or more, of which one that takes an event is enough. */
export interface Target {
  id: string
  name: string
  endpoints: TargetEndpoint[]
  isPaused: boolean
  isOff: boolean
}

/** One endpoint, and where it led in the course of the night. */
export interface TargetEndpoint {
  places: Endpoint[]
}

interface Sent {
  messageId: string
  /** When it was accepted, or ordered again: not before the one and not after the other, in milliseconds since 1970. */
  accepted: Span
  targets: Target[]
  redelivery?: string
  /** Its requests are those from here on in the log, and up to the end. */
  begin: number
  end: number
  /** How the operator ended it, by destination; a cancellation ends it as a whole. */
  discardedAt: Set<Target>
  isCancelled: boolean
  /** Its time for retries is over. */
  isOverdue: boolean
}

/** Between two moments, or from one length to another, in milliseconds. */
export interface Span {
  from: number
  to: number
}

/** Failures that the page of a destination shows. */
const mostFailures = 5

/** How long a node may take to see an answer that was given, in milliseconds. */
const seenWithinMs = 10_000

export interface Account {
  /** Whether a destination is on, and what the latest attempt at the worst of its endpoints came to. */
  stateOf(target: Target): string
  /** Takes note of an event that was accepted for these destinations. */
  sent(messageId: string, targets: Target[], accepted: Span): void
  /** Takes note that the time for its retries is over. */
  overdue(messageId: string): void
  redelivered(messageId: string): void
  cancelled(messageId: string): void
  switchedOff(target: Target): void
  /** By key. */
  rows(): Record<string, ShownRow>
  /** Keys of all deliveries. */
  keys(): string[]
  delivery(key: string): ShownDelivery
  /** How many deliveries have this status. */
  count(status: string): number
  /** How many deliveries stand like this at the destination. */
  countAt(target: Target, status: string): number
  /** The newest deliveries that failed for good at the destination, newest first. */
  failures(target: Target): ShownFailure[]
  /** Endpoints whose latest attempt failed, by URL. */
  failing(targets: readonly Target[]): Record<string, ShownFailing>
  /** From the acceptance of an event to its success at an endpoint: of each success the shortest and the longest time that it can have
   *  been. */
  latencies(): Span[]
  /** Requests that a destination took, and those that it did not. */
  requests(target: Target): { succeeded: number; failed: number }
}

const isOver = (one: Got): boolean => !one.isLost && !one.isUnderWay()
const isTaken = ({ status }: Got): boolean => status !== null && status >= 200 && status < 300
const isFinal = ({ status }: Got): boolean =>
  status !== null && status >= 300 && status < 500 && ![408, 425, 429].includes(status)

const openStatuses = ['Held', 'Retrying', 'Delivering']

export function keepAccount({ got }: Receivers): Account {
  const all: Sent[] = []
  const keyOfSent = ({ messageId, redelivery }: Sent): string => keyOf(messageId, redelivery)
  const latest = (messageId: string): Sent => found(all.findLast((one) => one.messageId === messageId))

  const requestsOf = ({ messageId, begin, end }: Sent): Got[] =>
    got.filter((one, index) => one.messageId === messageId && index >= begin && index < end && isOver(one))

  const endpointOf = (sent: Sent, target: Target, { places }: TargetEndpoint) => {
    const made = requestsOf(sent).filter(({ url }) => places.some((place) => place.url === url))
    const last = made.at(-1)
    const url = last?.url ?? places.at(-1)?.url ?? ''
    return { url, status: ownStatus(sent, target, made), attempts: made.length, isTaken: made.some(isTaken) }
  }
  const ownStatus = (sent: Sent, target: Target, made: readonly Got[]): string => {
    if (made.some(isTaken)) return 'Delivered'
    if (made.some(isFinal)) return 'Failed'
    if (sent.isCancelled) return 'Cancelled'
    if (sent.discardedAt.has(target)) return 'Discarded'
    if (sent.isOverdue) return 'Failed'
    if (target.isPaused) return 'Held'
    return made.length > 0 ? 'Retrying' : 'Delivering'
  }
  const destinationOf = (sent: Sent, target: Target): ShownDelivery['destinations'][string] => {
    const endpoints = target.endpoints.map((endpoint) => endpointOf(sent, target, endpoint))
    const isEnough = endpoints.some((one) => one.isTaken)
    const shown = endpoints.map(({ url, status, attempts }) => ({
      url,
      status: isEnough && status !== 'Delivered' && status !== 'Failed' ? 'Not needed' : status,
      attempts,
    }))
    const status = isEnough ? 'Delivered' : statusOf(endpoints.map((one) => one.status))
    return { status, endpoints: shown }
  }
  const statusOfSent = (sent: Sent): string => {
    const results = sent.targets.map((target) => destinationOf(sent, target).status)
    return sent.isCancelled ? 'Cancelled' : overallOf(results)
  }
  const deliveryOf = (sent: Sent): ShownDelivery => {
    const destinations = sent.targets.map((target) => [target.name, destinationOf(sent, target)] as const)
    const open = destinations.flatMap(([, { endpoints }]) => endpoints).filter(({ status }) => status === 'Retrying')
    return {
      status: statusOfSent(sent),
      destinations: Object.fromEntries(destinations),
      attempts: byUrl(requestsOf(sent).map(({ url, status }) => attemptText(url, status))),
      pending: open.map(({ url }) => url),
    }
  }
  /** All requests to some endpoints, wherever they led. */
  const madeAt = (endpoints: readonly TargetEndpoint[]): Got[] => {
    const urls = endpoints.flatMap(({ places }) => places.map(({ url }) => url))
    return got.filter((one) => urls.includes(one.url) && isOver(one))
  }
  const failingOf = (target: Target, endpoint: TargetEndpoint): ShownFailing => ({
    destination: target.name,
    status: String(madeAt([endpoint]).at(-1)?.status ?? 'no answer'),
    failed: madeAt([endpoint]).filter((one) => !isTaken(one)).length,
    waiting: countAt(target, 'Retrying'),
    failedForGood: countAt(target, 'Failed'),
  })
  const countAt = (target: Target, status: string): number =>
    all.filter((sent) => sent.targets.includes(target) && destinationOf(sent, target).status === status).length
  const statusOfFailure = (sent: Sent, target: Target): string => {
    const urls = target.endpoints.flatMap(({ places }) => places.map(({ url }) => url))
    return String(requestsOf(sent).findLast((one) => urls.includes(one.url))?.status ?? 'no answer')
  }
  const requestCount = (sent: Sent): number => requestsOf(sent).length

  return {
    sent(messageId, targets, accepted) {
      const never = { discardedAt: new Set<Target>(), isCancelled: false, isOverdue: false }
      all.push({ messageId, accepted, targets, begin: 0, end: Infinity, ...never })
    },
    overdue: (messageId) => void (latest(messageId).isOverdue = true),
    redelivered(messageId) {
      const before = latest(messageId)
      before.end = got.length
      const redelivery = String(Number(before.redelivery ?? '0') + 1)
      const never = { discardedAt: new Set<Target>(), isCancelled: false, isOverdue: false }
      // It is ordered later.
      const accepted = { from: Date.now(), to: Infinity }
      all.push({ ...before, accepted, redelivery, begin: got.length, end: Infinity, ...never })
    },
    cancelled: (messageId) => void (latest(messageId).isCancelled = true),
    switchedOff(target) {
      target.isOff = true
      for (const sent of all) if (sent.targets.includes(target)) sent.discardedAt.add(target)
    },
    rows: () =>
      Object.fromEntries(
        all.map((sent) => [keyOfSent(sent), { status: statusOfSent(sent), attempts: String(requestCount(sent)) }]),
      ),
    keys: () => all.map(keyOfSent),
    delivery: (key) => deliveryOf(found(all.find((sent) => keyOfSent(sent) === key))),
    count: (status) => all.filter((sent) => statusOfSent(sent) === status).length,
    countAt,
    failures: (target) =>
      all
        .filter((sent) => sent.targets.includes(target) && destinationOf(sent, target).status === 'Failed')
        .slice(-mostFailures)
        .reverse()
        .map((sent) => ({ event: `Event ${sent.messageId}`, status: statusOfFailure(sent, target) })),
    failing: (targets) =>
      Object.fromEntries(
        targets
          .filter(({ isOff }) => !isOff)
          .flatMap((target) => target.endpoints.map((endpoint) => ({ target, endpoint })))
          .filter(({ endpoint }) =>
            madeAt([endpoint]).some((one, index, made) => index === made.length - 1 && !isTaken(one)),
          )
          .map(({ target, endpoint }) => [endpoint.places.at(-1)?.url ?? '', failingOf(target, endpoint)]),
      ),
    latencies: () =>
      all.flatMap((sent) =>
        requestsOf(sent)
          .filter(isTaken)
          .map(({ at }) => ({
            from: Math.max(0, at - sent.accepted.to),
            to: at + seenWithinMs - sent.accepted.from,
          })),
      ),
    stateOf({ endpoints, isOff, isPaused }) {
      const latest = endpoints.map((endpoint) => madeAt([endpoint]).at(-1))
      const states = latest.map((one) => (one === undefined ? 'No attempt yet' : isTaken(one) ? 'Working' : 'Failing'))
      const worst = ['Failing', 'No attempt yet', 'Working'].find((state) => states.some((one) => one === state)) ?? ''
      return `${isOff ? 'Off' : isPaused ? 'Paused' : 'On'}${worst}`
    },
    requests({ endpoints }) {
      const made = madeAt(endpoints)
      const succeeded = made.filter(isTaken).length
      return { succeeded, failed: made.length - succeeded }
    },
  }
}

/** Of a destination that has not taken it. */
const statusOf = (endpoints: readonly string[]): string =>
  [...openStatuses, 'Cancelled', 'Failed', 'Discarded'].find((status) => endpoints.includes(status)) ?? 'none'

/** Of a delivery by those of its destinations. */
function overallOf(results: readonly string[]): string {
  const open = openStatuses.find((status) => results.includes(status))
  if (open !== undefined) return open
  const isPartly = results.includes('Delivered') && results.some((status) => status !== 'Delivered')
  if (isPartly) return 'Partly delivered'
  return results.includes('Failed') ? 'Failed' : (results[0] ?? 'none')
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the account does not know it')
  return value
}
