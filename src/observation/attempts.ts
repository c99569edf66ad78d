/** Remembers what attempts came to and writes it in groups: never a write per attempt. */

import type { AttemptObservation, EndpointObservation } from '../../activities/index.ts'
import {
  addAttemptMinutes,
  removeOldAttemptStats,
  writeEndpointHealth,
  type AttemptMinute,
  type EndpointSighting,
} from '../db/attempt-stats.ts'
import type { Database } from '../db/database.ts'
import { createFailureLog } from '../failure-log.ts'
import { writeGathered } from '../gathered-writes.ts'
import type { Logger } from '../logger.ts'
import { bucketOf, emptyBuckets, emptySlowBuckets, slowBucketOf } from './latency-buckets.ts'

const writePauseMs = 2_000

/** Endpoints, and minutes of endpoints, that wait to be written; more mean that the database is away. */
const maxWaiting = 10_000

/** How long the figures are kept: 31 days. */
const keepMs = 31 * 24 * 3_600_000
const removePauseMs = 3_600_000

export interface AttemptRecorder {
  observe: (observation: AttemptObservation) => void
  /** Remembers how an endpoint does, by a call that is no attempt of an event. */
  see: (observation: EndpointObservation) => void
  /** Writes what waits. */
  stop(): Promise<void>
}

export function createAttemptRecorder(database: Database, logger: Logger): AttemptRecorder {
  let minutes = new Map<string, AttemptMinute>()
  let health = new Map<string, EndpointSighting>()
  let removedAt = -Infinity
  const failures = createFailureLog(logger, 'attempt.figures_not_written')

  const count = ({ endpointId, destinationId, at, latencyMs, durationMs, failure }: AttemptObservation): void => {
    const minute = new Date(Math.floor(at.getTime() / 60_000) * 60_000)
    const key = `${minute.getTime()} ${endpointId}`
    let entry = minutes.get(key)
    if (entry === undefined) {
      if (minutes.size >= maxWaiting) return
      entry = { ...emptyCounts(), minute, endpointId, destinationId }
      minutes.set(key, entry)
    }
    if (failure !== undefined) entry.failed++
    else {
      entry.delivered++
      addTo(entry.latency, bucketOf(latencyMs))
      addTo(entry.durations, bucketOf(durationMs))
      const slowBucket = slowBucketOf(latencyMs)
      if (slowBucket !== undefined) {
        if (entry.slowLatency.length === 0) entry.slowLatency = emptySlowBuckets()
        addTo(entry.slowLatency, slowBucket)
      }
    }
  }

  const note = ({ endpointId, destinationId, at, outcome, failure }: EndpointObservation): void => {
    const before = health.get(endpointId)
    if (before === undefined && health.size >= maxWaiting) return
    const isFinal = outcome === 'rejected'
    const sighting = { endpointId, destinationId, observedAt: at, reason: failure ?? null, isFinal }
    health.set(
      endpointId,
      failure === undefined
        ? { ...sighting, failingSince: null, succeededAt: at }
        : { ...sighting, failingSince: before?.failingSince ?? at, succeededAt: before?.succeededAt ?? null },
    )
  }

  const write = async (): Promise<void> => {
    const [writtenMinutes, writtenHealth] = [minutes, health]
    minutes = new Map()
    health = new Map()
    try {
      if (writtenMinutes.size > 0) await addAttemptMinutes(database, [...writtenMinutes.values()])
      writtenMinutes.clear()
      if (writtenHealth.size > 0) await writeEndpointHealth(database, [...writtenHealth.values()])
      if (performance.now() - removedAt > removePauseMs) {
        await removeOldAttemptStats(database.patient, new Date(Date.now() - keepMs))
        removedAt = performance.now()
      }
      failures.worked()
    } catch (error) {
      failures.failed(error)
      minutes = mergeMinutes(writtenMinutes, minutes)
      health = mergeHealth(writtenHealth, health)
    }
  }

  const writes = writeGathered(write, writePauseMs)
  return {
    observe(observation) {
      count(observation)
      if (observation.isStopped !== true) note(observation)
    },
    see: note,
    async stop() {
      await writes.written()
      await writes.end()
    },
  }
}

const emptyCounts = () => ({
  ...{ delivered: 0, failed: 0 },
  ...{ latency: emptyBuckets(), durations: emptyBuckets(), slowLatency: [] as number[] },
})

function addTo(buckets: number[], bucket: number): void {
  buckets[bucket] = (buckets[bucket] ?? 0) + 1
}

/** One of the two may have no buckets. */
const sumOf = (one: readonly number[], other: readonly number[]): number[] =>
  (one.length === 0 ? other : one).map((_, bucket) => (one[bucket] ?? 0) + (other[bucket] ?? 0))

function mergeMinutes(
  older: Map<string, AttemptMinute>,
  newer: Map<string, AttemptMinute>,
): Map<string, AttemptMinute> {
  const merged = new Map(older)
  for (const [key, entry] of newer) {
    const before = merged.get(key)
    if (before === undefined) merged.set(key, entry)
    else
      merged.set(key, {
        ...entry,
        delivered: before.delivered + entry.delivered,
        failed: before.failed + entry.failed,
        latency: sumOf(entry.latency, before.latency),
        durations: sumOf(entry.durations, before.durations),
        slowLatency: sumOf(entry.slowLatency, before.slowLatency),
      })
  }
  return merged
}

/** A run of failures that goes on began with the older ones, unless a success came between. */
function mergeHealth(
  older: ReadonlyMap<string, EndpointSighting>,
  newer: ReadonlyMap<string, EndpointSighting>,
): Map<string, EndpointSighting> {
  const merged = new Map(older)
  for (const [endpointId, sighting] of newer) {
    const before = sighting.succeededAt === null ? older.get(endpointId) : undefined
    const { succeededAt = null, failingSince } = before ?? sighting
    merged.set(endpointId, { ...sighting, succeededAt, failingSince: failingSince ?? sighting.failingSince })
  }
  return merged
}
