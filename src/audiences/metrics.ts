/** Figures of audiences for Prometheus. */

import { Counter, Gauge, type Registry } from 'prom-client'
import type { SyncStatus } from '../schemas/audience.ts'

/** How a sync may end. */
const ends = ['completed', 'failed', 'refused', 'stopped'] as const satisfies SyncStatus[]

export interface AudienceMetrics {
  rows: Counter<'result'>
  changes: Counter<'change'>
  identifies: Counter<'outcome'>
  /** Syncs that this node began and has not seen the end of. */
  running: Gauge
  ended: Counter<'status'>
}

export function createAudienceMetrics(registry: Registry): AudienceMetrics {
  const registers = [registry]
  const ended = new Counter({
    name: 'postrider_audience_syncs_total',
    help: 'Syncs that ended, by status',
    labelNames: ['status'],
    registers,
  })
  // There from the start: the first one would be no increase otherwise, and no alert.
  for (const status of ends) ended.inc({ status }, 0)
  return {
    rows: new Counter({
      name: 'postrider_audience_rows_total',
      help: 'Rows of memberships that were read, good and bad',
      labelNames: ['result'],
      registers,
    }),
    changes: new Counter({
      name: 'postrider_audience_changes_total',
      help: 'Users that syncs found added or removed',
      labelNames: ['change'],
      registers,
    }),
    identifies: new Counter({
      name: 'postrider_audience_identifies_total',
      help: 'Identify calls of syncs: sent, handed on to a delivery of their own, failed for good',
      labelNames: ['outcome'],
      registers,
    }),
    running: new Gauge({
      name: 'postrider_audience_syncs_begun',
      help: 'Syncs that this node began, less those that it ended',
      registers,
    }),
    ended,
  }
}
