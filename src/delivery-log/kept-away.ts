/** Since when endpoints are down, told alike by all deliveries that wait for them: each was told when it was last turned away, by
 *  whichever node that was. */

import { keptAwayPattern, keptAwayReason, withoutPastProbe, withoutProbe } from '../contracts/kept-away.ts'
import type { Database } from '../db/database.ts'
import { readEndpointStates } from '../db/endpoint-states.ts'
import { isOpenStatus } from '../db/parcel-statuses.ts'
import type { Delivery, DeliveryDestination, DeliveryDetail } from '../schemas/delivery.ts'
import type { FindDestination } from './sent-requests.ts'

type Row = Pick<Delivery, 'destinationIds' | 'endedAt' | 'reason'>

/** What is told now of each endpoint that is down, by its id. */
type DownNow = ReadonlyMap<string, string>

export interface KeptAway {
  rows<Shown extends Row>(rows: Shown[]): Promise<Shown[]>
  detail(delivery: DeliveryDetail): Promise<DeliveryDetail>
}

export function tellKeptAway(database: Database, findDestination: FindDestination): KeptAway {
  const endpointIdsOf = ({ destinationIds }: Row): string[] =>
    destinationIds.flatMap((id) => findDestination(id)?.settings.webhooks.map((webhook) => webhook.id) ?? [])

  const downNow = async (endpointIds: readonly string[]): Promise<DownNow> => {
    const states = await readEndpointStates(database, [...new Set(endpointIds)])
    return new Map(
      states.flatMap(({ id, downSince, nextProbeAt }) =>
        downSince === null
          ? []
          : [[id, keptAwayReason(new Date(downSince), nextProbeAt === null ? new Date() : new Date(nextProbeAt))]],
      ),
    )
  }

  /** A row does not say which of several endpoints it waits for. */
  const ofRow = <Shown extends Row>(row: Shown, down: DownNow): Shown => {
    const [told, ...others] = endpointIdsOf(row).flatMap((id) => down.get(id) ?? [])
    return { ...row, reason: retold(row.reason, others.length > 0 ? undefined : told) }
  }

  return {
    async rows(given) {
      const rows = given.map(ofEnded)
      const waiting = rows.filter(isKeptAway)
      if (waiting.length === 0) return rows
      const down = await downNow(waiting.flatMap(endpointIdsOf))
      return rows.map((row) => (isKeptAway(row) ? ofRow(row, down) : row))
    },
    async detail(given) {
      const delivery = { ...ofEnded(given), destinations: given.destinations.map(ofDestination) }
      const endpoints = delivery.destinations.flatMap((destination) => destination.endpoints)
      if (delivery.endedAt !== null || ![delivery, ...endpoints].some(saysSo)) return delivery
      const down = await downNow(endpointIdsOf(delivery))
      const destinations = delivery.destinations.map((destination) => ({
        ...destination,
        endpoints: destination.endpoints.map((endpoint) => ({
          ...endpoint,
          reason: retold(endpoint.reason, down.get(endpoint.endpointId)),
        })),
      }))
      return { ...ofRow(delivery, down), destinations }
    },
  }
}

const ofEnded = <Shown extends Row>(row: Shown): Shown =>
  row.endedAt === null || row.reason === null ? row : { ...row, reason: withoutProbe(row.reason) }

const ofDestination = (destination: DeliveryDestination): DeliveryDestination => ({
  ...destination,
  endpoints: destination.endpoints.map((endpoint) =>
    isOpenStatus(endpoint.status) || endpoint.reason === null
      ? endpoint
      : { ...endpoint, reason: withoutProbe(endpoint.reason) },
  ),
})

const isKeptAway = (row: Row): boolean => row.endedAt === null && saysSo(row)

const saysSo = ({ reason }: { reason: string | null }): boolean => reason !== null && keptAwayPattern.test(reason)

/** @param told  what is known now of the endpoint; undefined: nothing */
const retold = (reason: string | null, told: string | undefined): string | null =>
  reason && (told === undefined ? withoutPastProbe(reason) : reason.replace(keptAwayPattern, told))
