/** What the parts of a node ask of the settings of destinations. */

import type { DeliveryTarget } from '../contracts/delivery.ts'
import { gatedEndpoint, type Gate } from '../delivery/gate.ts'
import { deliveryTarget } from '../settings/delivery-target.ts'
import type { Settings } from '../settings/settings.ts'

export interface DestinationQuestions {
  /** Ids of the destinations that are paused. */
  paused: () => string[]
  /** The name of a destination that is paused; undefined for any other. */
  nameOfPaused: (id: string) => string | undefined
  /** Where events for a destination go now; undefined when it takes none. */
  findTarget: (id: string) => DeliveryTarget | undefined
  /** Endpoints that get events, or probes: none of destinations that are switched off, or that an operator has paused, and none before
   *  the settings were read. */
  endpoints: () => { endpointId: string; destinationId: string }[]
  /** Endpoints that are down at the addresses that they have now. */
  down: Gate['down']
  /** Ids of those whose endpoints are all down. */
  downDestinations: () => string[]
  /** Ids of those whose endpoints are all among these. */
  allDownAmong: (endpointIds: ReadonlySet<string>) => string[]
}

export function destinationQuestions(settings: Settings, gate: Gate): DestinationQuestions {
  const all = () => [...settings.destinations()]
  const down = (): ReturnType<Gate['down']> => {
    const wereDown = new Set(gate.down().map(({ endpointId }) => endpointId))
    if (wereDown.size === 0) return []
    for (const webhook of all().flatMap((destination) => destination.settings.webhooks))
      if (wereDown.has(webhook.id)) gate.forgetMoved(gatedEndpoint(webhook))
    return gate.down()
  }
  const allDownAmong = (ids: ReadonlySet<string>): string[] => {
    if (ids.size === 0) return []
    return all()
      .filter(({ settings: { webhooks } }) => webhooks.length > 0 && webhooks.every(({ id }) => ids.has(id)))
      .map(({ id }) => id)
  }

  return {
    paused: () =>
      all()
        .filter(({ paused }) => paused)
        .map(({ id }) => id),
    nameOfPaused(id) {
      const destination = settings.destination(id)
      return destination?.paused === true ? destination.name : undefined
    },
    findTarget(id) {
      const destination = settings.destination(id)
      return destination && deliveryTarget(destination)
    },
    endpoints: () =>
      (settings.isLoaded() ? all() : [])
        .filter(({ enabled, paused, held }) => enabled && (!paused || held !== null))
        .flatMap(({ id, settings: { webhooks } }) =>
          webhooks.map((webhook) => ({ endpointId: webhook.id, destinationId: id })),
        ),
    down,
    downDestinations: () => allDownAmong(new Set(down().map(({ endpointId }) => endpointId))),
    allDownAmong,
  }
}
