/** What intake and deliveries both know of the endpoints: which take attempts now, and how many events are on their way there. */

import type { RetrySchedule } from '../contracts/delivery.ts'
import { createGate, gatedEndpoint, type Gate } from '../delivery/gate.ts'
import { gateBounds } from '../delivery/gate-bounds.ts'
import { createParcelLoad, type ParcelLoad } from '../delivery/parcel-load.ts'
import type { Readiness } from '../intake/inbox-turns.ts'
import type { Settings } from '../settings/settings.ts'

export interface GateServices {
  gate: Gate
  parcelLoad: ParcelLoad
  /** Whether the endpoints of some destinations take attempts now. */
  readiness: (destinationIds: readonly string[]) => Readiness
}

export function composeGate(settings: Settings, retry: RetrySchedule): GateServices {
  const gate = createGate(gateBounds(retry))
  const readiness = (destinationIds: readonly string[]): Readiness => {
    const endpoints = destinationIds.flatMap((id) => settings.destination(id)?.settings.webhooks ?? [])
    if (endpoints.length === 0) return 'open'
    for (const endpoint of endpoints) gate.forgetMoved(gatedEndpoint(endpoint))
    const passable = endpoints.filter(({ id }) => !gate.isShut(id))
    const up = passable.filter(({ id }) => gate.closedSince(id) === undefined)
    if (up.some(({ id }) => gate.isAnswering(id))) return 'open'
    if (up.length > 0 && endpoints.some(({ id }) => gate.isUnheard(id))) return 'shut'
    if (up.some(({ id }) => !gate.isHanging(id))) return 'trial'
    return passable.length > 0 ? 'probe' : 'shut'
  }
  return { gate, parcelLoad: createParcelLoad(), readiness }
}
