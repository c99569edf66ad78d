/** However many destinations and endpoints there are, a node shows Prometheus a bounded number of series. */

import { Registry, type Counter } from 'prom-client'
import { expect, it } from 'vitest'
import { countLeftOut } from '../src/intake/count-left-out.ts'
import type { Mapper } from '../src/mapping/mapper.ts'
import { measureAttempts } from '../src/observation/attempt-metrics.ts'
import { countMappingFailures } from '../src/observation/mapping-failures.ts'

const many = Array.from({ length: 1_500 }, (_, index) => `id_${index}`)

/** Values of a counter after each of `many` was counted twice, and how it counts one. */
async function seriesOf(
  name: string,
  counting: (registry: Registry) => (id: string) => unknown,
): Promise<{ value: number; labels: Record<string, unknown> }[]> {
  const registry = new Registry()
  const count = counting(registry)
  for (const id of [...many, ...many]) await count(id)
  return (await (registry.getSingleMetric(name) as Counter).get()).values
}

it.each<[name: string, counting: (registry: Registry) => (id: string) => unknown]>([
  [
    'postrider_attempts_total',
    (registry) => {
      const measure = measureAttempts(registry)
      const facts = { at: new Date(), latencyMs: 2, durationMs: 1, outcome: 'delivered' } as const
      return (endpointId) => measure({ ...facts, endpointId, destinationId: `dst_${endpointId}` })
    },
  ],
  [
    'postrider_filtered_total',
    (registry) => {
      const count = countLeftOut(registry)
      return (destinationId) => count(destinationId, 'types')
    },
  ],
  [
    'postrider_mapping_failures_total',
    (registry) => {
      const failing: Pick<Mapper, 'map'> = { map: async () => ({ kind: 'failed', reason: 'no such member' }) }
      const mapper = countMappingFailures(registry)(failing as Mapper)
      return (destinationId) => mapper.map({ destinationId, mappingId: 'map_1' }, { type: 'track' } as never)
    },
  ],
])('%s', async (name, counting) => {
  const series = await seriesOf(name, counting)
  expect(series).toHaveLength(1_001)
  const others = series.filter(({ labels }) => labels['destination_id'] === 'other')
  expect(others.map(({ value }) => value)).toEqual([1_000])
  expect(series.find(({ labels }) => String(labels['destination_id']).endsWith('id_0'))?.value).toBe(2)
})
