/** What waits because its endpoint is down goes on as soon as the endpoint is back, and not only after the pause that it was told: by then
 *  pauses have grown to minutes. */

import { LRUCache } from 'lru-cache'
import type { WaitingTry } from '../contracts/delivery.ts'
import type { Gate } from './gate.ts'

export interface Recovery {
  /** Takes note of a try that goes on waiting for an endpoint.
   *  @param wasDown  whether it was kept from the endpoint, which may be back by now */
  note(endpointId: string, waiting: WaitingTry, wasDown: boolean): void
  /** The try is made: whoever is woken while an attempt is under way would have it stopped. */
  forget(made: WaitingTry): void
  /** Lets the call under way finish. */
  stop(): Promise<void>
}

export interface RecoveryDependencies {
  gate: Pick<Gate, 'closedSince' | 'isAnswering'>
  /** Lets a try be made now. @throws Error when it may be asked again later */
  wake: (waiting: WaitingTry) => Promise<void>
}

/** Endpoints whose waiting tries are remembered, and tries of each; whatever is beyond them comes after its own pause. */
const maxEndpoints = 1_000
const maxTries = 500

/** How often endpoints are looked at, in milliseconds. */
const lookMs = 500

export function runRecovery({ gate, wake }: RecoveryDependencies): Recovery {
  const waiting = new LRUCache<string, Map<string, WaitingTry>>({ max: maxEndpoints })
  /** Endpoints that were down while something waited for them. */
  const wereDown = new Set<string>()
  let waking: Promise<void> | undefined
  let isStopped = false

  const isBack = (endpointId: string): boolean =>
    wereDown.has(endpointId) && gate.closedSince(endpointId) === undefined && gate.isAnswering(endpointId)

  const look = (): void => {
    for (const endpointId of waiting.keys()) if (gate.closedSince(endpointId) !== undefined) wereDown.add(endpointId)
    for (const endpointId of wereDown) if (!waiting.has(endpointId)) wereDown.delete(endpointId)
    if ([...wereDown].some(isBack))
      waking ??= wakeAll()
        .catch(() => {})
        .finally(() => (waking = undefined))
  }

  /** One after the other, so that Temporal has time for other things, and no more once the endpoint is down again. */
  const wakeAll = async (): Promise<void> => {
    for (const [endpointId, tries] of [...waiting.entries()])
      for (const [key, one] of tries) {
        if (isStopped || !isBack(endpointId)) break
        await wake(one)
        // It may have been made meanwhile, and wait anew.
        if (tries.get(key) === one) tries.delete(key)
        if (tries.size === 0) waiting.delete(endpointId)
      }
  }

  const timer = setInterval(look, lookMs)

  return {
    note(endpointId, one, wasDown) {
      if (wasDown || gate.closedSince(endpointId) !== undefined) wereDown.add(endpointId)
      const tries = waiting.get(endpointId) ?? new Map<string, WaitingTry>()
      waiting.set(endpointId, tries)
      const key = keyOf(one)
      tries.delete(key)
      tries.set(key, one)
      const [oldest] = tries.keys()
      if (tries.size > maxTries && oldest !== undefined) tries.delete(oldest)
    },
    forget(made) {
      const key = keyOf(made)
      for (const [endpointId, tries] of waiting.entries())
        if (tries.delete(key) && tries.size === 0) waiting.delete(endpointId)
    },
    async stop() {
      isStopped = true
      clearInterval(timer)
      await waking
    },
  }
}

const keyOf = ({ runId, activityId }: WaitingTry): string => `${runId}/${activityId}`
