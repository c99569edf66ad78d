/** The filter of the events that became no delivery, as the address bar holds it. */

import type { TurnedAwayFate, TurnedAwayFilter } from '../../../../src/schemas/turned-away.ts'

export const fates: TurnedAwayFate[] = ['rejected', 'filtered', 'no_destination', 'suppressed', 'dropped']

/** Reads a filter from an address; what does not fit is left out. */
export function readTurnedAwayFilter(search: Record<string, unknown>): TurnedAwayFilter {
  const filter: TurnedAwayFilter = {}
  const fate = fates.find((known) => known === search['fate'])
  if (fate !== undefined) filter.fate = fate
  for (const member of ['sourceId', 'destinationId', 'reason', 'messageId', 'userId'] as const) {
    const value = search[member]
    if (typeof value === 'string' && value !== '') filter[member] = value
  }
  for (const member of ['since', 'until'] as const) {
    const value = search[member]
    if (typeof value === 'string' && !Number.isNaN(Date.parse(value))) filter[member] = new Date(value).toISOString()
  }
  return filter
}
