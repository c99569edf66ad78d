/** Where the figures of a node come together for Prometheus. */

import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'

/** @param version  of Postrider */
export function createRegistry(version: string): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'postrider_build_info',
    help: 'Always 1, with the versions of the node',
    labelNames: ['version', 'node_version'],
    registers: [registry],
  }).set({ version, node_version: process.version }, 1)
  return registry
}
