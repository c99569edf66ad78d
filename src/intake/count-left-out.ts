import { Counter, type Registry } from 'prom-client'
import type { IngestPort } from '../ingest/port.ts'

/** Destinations that have series of their own; events that further ones left out count under the label `other`. */
const maxDestinations = 1_000

/** @returns counts an event that the filter of a destination left out */
export function countLeftOut(registry: Registry): NonNullable<IngestPort['countLeftOut']> {
  const counter = new Counter({
    name: 'postrider_filtered_total',
    help: 'Events that filters left out, by the part that they did not fit; fault: it could not be said',
    labelNames: ['destination_id', 'by'],
    registers: [registry],
  })
  const known = new Set<string>()
  return (destinationId, by) => {
    if (known.size < maxDestinations) known.add(destinationId)
    counter.inc({ destination_id: known.has(destinationId) ? destinationId : 'other', by })
  }
}
