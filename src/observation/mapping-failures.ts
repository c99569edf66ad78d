import { Counter, type Registry } from 'prom-client'
import type { Mapper } from '../mapping/mapper.ts'

/** Destinations that have series of their own; failures at further ones count under the label `other`. */
const maxDestinations = 1_000

/** @returns counts the events that a mapper is given for sending and that it cannot map */
export function countMappingFailures(registry: Registry): (mapper: Mapper) => Mapper {
  const counter = new Counter({
    name: 'postrider_mapping_failures_total',
    help: 'Attempts that were not made since the mapping of the destination could not be applied',
    labelNames: ['destination_id'],
    registers: [registry],
  })
  const known = new Set<string>()
  const count = (destinationId: string): void => {
    if (known.size < maxDestinations) known.add(destinationId)
    counter.inc({ destination_id: known.has(destinationId) ? destinationId : 'other' })
  }
  return (mapper) => ({
    ...mapper,
    async map(version, event) {
      const mapped = await mapper.map(version, event)
      if (mapped.kind === 'failed') count(version.destinationId)
      return mapped
    },
  })
}
