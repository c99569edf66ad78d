/** Figures of attempts for Prometheus. */

import { Counter, Histogram, type Registry } from 'prom-client'
import type { AttemptObservation } from '../../activities/index.ts'

/** Endpoints that have series of their own; attempts at further ones count under the label `other`. */
const maxEndpoints = 1_000

/** Upper bounds in seconds: an attempt ends by its time limit, 5 s or up to 30. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Upper bounds in seconds, up to the default retry window of 4 hours: above 10 s, where a backlog is told, each at most twice the one before. */
const latencyBuckets = [
  ...[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ...[20, 30, 60, 90, 120, 180, 300, 450, 600, 900, 1_800, 3_600, 7_200, 14_400],
]

/** @returns takes note of an attempt */
export function measureAttempts(registry: Registry): (observation: AttemptObservation) => void {
  const registers = [registry]
  const attempts = new Counter({
    name: 'postrider_attempts_total',
    help: 'Requests to endpoints, by what came of them',
    labelNames: ['destination_id', 'endpoint_id', 'outcome'],
    registers,
  })
  const duration = new Histogram({
    name: 'postrider_attempt_duration_seconds',
    help: 'Time from the beginning of a request to an endpoint to the end of its answer, or its failure',
    labelNames: ['outcome'],
    buckets: durationBuckets,
    registers,
  })
  const firstAttempt = new Histogram({
    name: 'postrider_first_attempt_delay_seconds',
    help: 'Time from the acceptance of an event to the beginning of its first attempt at an endpoint',
    buckets: latencyBuckets,
    registers,
  })
  const success = new Histogram({
    name: 'postrider_delivery_latency_seconds',
    help: 'Time from the acceptance of an event to its success at an endpoint: inbox, retries and pauses included',
    buckets: latencyBuckets,
    registers,
  })
  const known = new Set<string>()

  const labelsOf = ({ destinationId, endpointId }: AttemptObservation) => {
    if (known.size < maxEndpoints) known.add(endpointId)
    return known.has(endpointId)
      ? { destination_id: destinationId, endpoint_id: endpointId }
      : { destination_id: 'other', endpoint_id: 'other' }
  }

  return (observation) => {
    const { outcome, durationMs, waitedMs, latencyMs } = observation
    attempts.inc({ ...labelsOf(observation), outcome })
    duration.observe({ outcome }, durationMs / 1_000)
    if (waitedMs !== undefined) firstAttempt.observe(waitedMs / 1_000)
    if (outcome === 'delivered') success.observe(latencyMs / 1_000)
  }
}
