/** What an operator can do to a running delivery: signals, from the API, the `temporal` CLI or the Temporal UI alike. */

import { defineSignal, setHandler } from '@temporalio/workflow'
import type { SteeringTrace } from '../src/contracts/delivery.ts'
import { signals } from '../src/contracts/delivery.ts'

export const retryNow = defineSignal<[SteeringTrace?]>(signals.retryNow)
export const destinationChanged = defineSignal<[string?]>(signals.destinationChanged)

export interface Steering {
  /** Calls `listener` at each signal `retryNow`, until the returned function is called. */
  onRetryNow(listener: () => void): () => void
  /** Calls `listener` when the destination, or an unnamed one, changed. */
  onDestinationChanged(destinationId: string, listener: () => void): () => void
  /** How many signals came so far that the destination, or an unnamed one, changed. */
  changes(destinationId: string): number
}

export function listenForSteering(): Steering {
  const retryListeners = new Set<() => void>()
  const changeListeners = new Map<() => void, string>()
  const told: (string | undefined)[] = []
  setHandler(retryNow, () => {
    for (const listener of [...retryListeners]) listener()
  })
  setHandler(destinationChanged, (changedId) => {
    told.push(changedId)
    for (const [listener, destinationId] of [...changeListeners])
      if (changedId === undefined || changedId === destinationId) listener()
  })
  return {
    onRetryNow(listener) {
      retryListeners.add(listener)
      return () => retryListeners.delete(listener)
    },
    onDestinationChanged(destinationId, listener) {
      changeListeners.set(listener, destinationId)
      return () => changeListeners.delete(listener)
    },
    changes: (destinationId) => told.filter((id) => id === undefined || id === destinationId).length,
  }
}
