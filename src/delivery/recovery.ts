/** What waits because its endpoint is down goes on as soon as the endpoint is back, and not only after the pause that it was told: by then
 *  pauses have grown to minutes. One of them after the other is the probe that finds out. */

import { LRUCache } from 'lru-cache'
import type { WaitingTry } from '../contracts/delivery.ts'
import type { Gate } from './gate.ts'

export interface Recovery {
  /** Takes note of a try that goes on waiting for an endpoint. */
  note(endpointId: string, waiting: WaitingTry, why: WhyWaiting): void
  /** The try is made: what comes of one that is woken in its middle is refused. */
  forget(made: WaitingTry): void
  /** Whether so many tries wait for the endpoint that they probe it in turn while it is down. */
  hasProbers(endpointId: string): boolean
  /** Lets the calls under way finish. */
  stop(): Promise<void>
}

/** Why a try waits, and for how long; of one whose attempt failed no reason is given. */
export interface WhyWaiting {
  /** It was kept from the endpoint, which may be back by now. */
  isDown?: boolean
  /** It was turned away, and would have its turn in so many milliseconds, but waits for longer. */
  turnInMs?: number | undefined
  /** In so many milliseconds it is made anyway, here or at another node. */
  comesInMs?: number
  /** It has waited for so many milliseconds already; 0 unless given. */
  waitedMs?: number
}

export interface RecoveryDependencies {
  gate: Pick<Gate, 'closedSince' | 'isAnswering' | 'probeInMs'>
  /** Lets a try be made now. @returns whether it waited still. @throws Error when it may be asked again later */
  wake: (waiting: WaitingTry) => Promise<boolean>
}

/** Endpoints whose waiting tries are remembered, and tries of each; whatever is beyond them comes after its own pause. */
const maxEndpoints = 1_000
const maxTries = 500

/** So many tries that wait probe an endpoint in turn. With fewer each probe is a further event, which goes on trying from then on: without an
 *  end to that, an endpoint that is down for hours would have a thousand of them. */
const enoughProbers = 16

/** How long a woken try may take to ask for its probe before another one is woken, in milliseconds. */
const comesMs = 2_000

/** A try that comes by itself so soon is not woken any more, in milliseconds: another node may be making it, and what comes of a try that is
 *  woken in its middle is refused, so that the endpoint gets the event twice. */
const soonMs = 1_000

/** One that has not come so long after its time has come at another node, in milliseconds. */
const lateMs = 10_000

/** How often endpoints are looked at, in milliseconds. */
const lookMs = 500

/** An endpoint recovers for so long after it was down, and after the last turn of a try that found no place meanwhile, in milliseconds: not
 *  all that waited find a place at once. */
const recoversMs = 30_000

/** All times are milliseconds as `performance.now` gives them. */
interface Endpoint {
  tries: Map<string, Waiting>
  /** When it was seen to be down for the last time. */
  downAt: number
  recoversUntil: number
  /** When a try was woken to probe it for the last time. */
  probedAt: number
}

interface Waiting {
  one: WaitingTry
  since: number
  turnAt: number
  /** When it is made anyway. */
  comesAt: number
}

export function runRecovery({ gate, wake }: RecoveryDependencies): Recovery {
  const endpoints = new LRUCache<string, Endpoint>({ max: maxEndpoints })
  let probing: Promise<void> | undefined
  let waking: Promise<void> | undefined
  let isStopped = false

  const look = (): void => {
    const now = performance.now()
    for (const [endpointId, endpoint] of endpoints.entries()) {
      if (gate.closedSince(endpointId) !== undefined) noteDown(endpoint, now)
      else if (endpoint.tries.size === 0 && now >= endpoint.recoversUntil) endpoints.delete(endpointId)
    }
    // Apart, so that many endpoints that are down hold up none that is back.
    probing ??= seeToAll(wakeProber).finally(() => (probing = undefined))
    waking ??= seeToAll(wakeWaiting).finally(() => (waking = undefined))
  }

  /** One endpoint after the other, so that Temporal has time for other things; where it does not answer the next look goes on. */
  const seeToAll = async (see: (endpointId: string, endpoint: Endpoint) => Promise<void>): Promise<void> => {
    for (const [endpointId, endpoint] of [...endpoints.entries()]) await see(endpointId, endpoint).catch(() => {})
  }

  const isBack = (endpointId: string): boolean =>
    gate.closedSince(endpointId) === undefined && gate.isAnswering(endpointId)

  /** @returns whether it is made now for that */
  const wakeOne = async ({ tries }: Endpoint, key: string, waiting: Waiting): Promise<boolean> => {
    const inMs = waiting.comesAt - performance.now()
    if (inMs < -lateMs || inMs > soonMs) tries.delete(key)
    if (inMs <= soonMs) return false
    try {
      return await wake(waiting.one)
    } catch (error) {
      // Behind the others, unless it waits anew by now.
      if (!tries.has(key)) tries.set(key, waiting)
      throw error
    }
  }

  const isToProbe = (endpointId: string, { tries, probedAt }: Endpoint): boolean =>
    tries.size >= enoughProbers &&
    gate.closedSince(endpointId) !== undefined &&
    gate.probeInMs(endpointId) === 0 &&
    performance.now() - probedAt >= comesMs

  /** The one that has waited for longest, of those that wait still. */
  const wakeProber = async (endpointId: string, endpoint: Endpoint): Promise<void> => {
    for (const [key, waiting] of endpoint.tries) {
      if (isStopped || !isToProbe(endpointId, endpoint)) break
      if (await wakeOne(endpoint, key, waiting)) endpoint.probedAt = performance.now()
    }
  }

  /** One after the other, and no more once the endpoint is down again. */
  const wakeWaiting = async (endpointId: string, endpoint: Endpoint): Promise<void> => {
    for (const [key, waiting] of endpoint.tries) {
      if (isStopped || !isBack(endpointId)) break
      if (isToWake(endpoint, waiting)) await wakeOne(endpoint, key, waiting)
    }
  }

  const timer = setInterval(look, lookMs)

  return {
    note(endpointId, one, { isDown = false, turnInMs = Infinity, comesInMs = Infinity, waitedMs = 0 }) {
      const endpoint = endpoints.get(endpointId) ?? newEndpoint()
      endpoints.set(endpointId, endpoint)
      const now = performance.now()
      if (isDown || gate.closedSince(endpointId) !== undefined) noteDown(endpoint, now)
      const turnAt = now + turnInMs
      if (turnAt < Infinity && now < endpoint.recoversUntil)
        endpoint.recoversUntil = Math.max(endpoint.recoversUntil, turnAt + recoversMs)
      keep(endpoint.tries, { one, since: now - waitedMs, turnAt, comesAt: now + comesInMs })
    },
    forget(made) {
      const key = keyOf(made)
      for (const { tries } of endpoints.values()) tries.delete(key)
    },
    hasProbers: (endpointId) => (endpoints.peek(endpointId)?.tries.size ?? 0) >= enoughProbers,
    async stop() {
      isStopped = true
      clearInterval(timer)
      await Promise.all([probing, waking])
    },
  }
}

const newEndpoint = (): Endpoint => ({
  tries: new Map(),
  downAt: -Infinity,
  recoversUntil: -Infinity,
  probedAt: -Infinity,
})

function noteDown(endpoint: Endpoint, now: number): void {
  endpoint.downAt = now
  endpoint.recoversUntil = now + recoversMs
}

/** Whether it waits because its endpoint was down: its own pause is for what failed while the endpoint was up. */
function isToWake({ downAt, recoversUntil }: Endpoint, { since, turnAt }: Waiting): boolean {
  const now = performance.now()
  return downAt >= since || (now >= turnAt && now < recoversUntil)
}

/** Keeps it as the newest of an endpoint's tries. */
function keep(tries: Map<string, Waiting>, waiting: Waiting): void {
  const key = keyOf(waiting.one)
  tries.delete(key)
  tries.set(key, waiting)
  const [oldest] = tries.keys()
  if (tries.size > maxTries && oldest !== undefined) tries.delete(oldest)
}

const keyOf = ({ runId, activityId }: WaitingTry): string => `${runId}/${activityId}`
