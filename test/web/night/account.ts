/** What pages have to show of a night: derived from what receivers got and what the operator did, from nothing else. */

import type { Endpoint, Got, Receivers } from './receivers.ts'
import { attemptText, byUrl, keyOf, type ShownDelivery, type ShownRow } from './screen.ts'

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
  targets: Target[]
  redelivery?: string
  /** Its requests are those from here on in the log, and up to the end. */
  begin: number
  end: number
  /** How the operator ended it, by destination; a cancellation ends it as a whole. */
  discardedAt: Set<Target>
  isCancelled: boolean
}

export interface Account {
  /** Whether a destination is on, and what the latest attempt at the worst of its endpoints came to. */
  stateOf(target: Target): string
  /** Takes note of an event that was accepted for these destinations. */
  sent(messageId: string, targets: Target[]): void
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
  /** How many deliveries have it and go to the destination. */
  countAt(target: Target, status: string): number
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
  const requestCount = (sent: Sent): number => requestsOf(sent).length

  return {
    sent(messageId, targets) {
      all.push({ messageId, targets, begin: 0, end: Infinity, discardedAt: new Set(), isCancelled: false })
    },
    redelivered(messageId) {
      const before = latest(messageId)
      before.end = got.length
      const redelivery = String(Number(before.redelivery ?? '0') + 1)
      all.push({ ...before, redelivery, begin: got.length, end: Infinity, discardedAt: new Set(), isCancelled: false })
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
    countAt: (target, status) =>
      all.filter((sent) => sent.targets.includes(target) && statusOfSent(sent) === status).length,
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
