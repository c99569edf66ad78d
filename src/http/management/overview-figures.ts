/** Gathers the overview: door and attempts from their tables, deliveries from Temporal by one count per status. */

import {
  countAttemptsPerStep,
  listFailingEndpoints,
  sumBuckets,
  type AttemptStep,
  type FailingEndpoint,
} from '../../db/attempt-stats.ts'
import type { Database } from '../../db/database.ts'
import { inboxDepth } from '../../db/inbox.ts'
import { countAtDoor, countAtDoorPerStep, type DoorCount, type StepCount } from '../../db/overview.ts'
import type { DeliveryLog } from '../../delivery-log/delivery-log.ts'
import { AppError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { percentile } from '../../observation/latency-buckets.ts'
import { deliveryStatuses, type StartedStatus } from '../../schemas/delivery.ts'
import type { Overview, OverviewQuery } from '../../schemas/overview.ts'
import type { Settings } from '../../settings/settings.ts'
import type { PartLimits } from './part-limits.ts'
import { within } from '../../within.ts'

const minuteMs = 60_000
const defaultRangeMs = 24 * 60 * minuteMs

/** Figures are kept this long: 31 days. */
const maxRangeMs = 31 * 24 * 60 * minuteMs

/** Steps of the series; the first that needs at most `maxSteps` is taken. */
const stepsMs = [1, 5, 15, 60, 360].map((minutes) => minutes * minuteMs)
const maxSteps = 124

const maxFailingEndpoints = 100

/** How long the counts of deliveries may take, in milliseconds. */
const countLimitMs = 5_000

/** What an event can come to at the door. */
const doorFates = ['accepted', 'rejected', 'filtered', 'no_destination', 'suppressed', 'dropped']

export interface OverviewDependencies {
  database: Database
  settings: Settings
  deliveryLog: DeliveryLog
  partLimits: PartLimits
  logger: Logger
}

/** @throws AppError bad_request when the range is empty or longer than the figures are kept */
export async function readOverview(dependencies: OverviewDependencies, query: OverviewQuery): Promise<Overview> {
  const { database, settings } = dependencies
  const range = rangeOf(query)
  const door = { ...range, sourceIds: sourcesOf(settings, query) }
  const attempts = { ...range, destinationIds: destinationsOf(settings, query) }
  const stepMs = stepOf(range)
  const [atDoor, doorSteps, attemptSteps, latency, slow, durations, failing, depth, deliveries] = await Promise.all([
    countAtDoor(database, door),
    countAtDoorPerStep(database, door, stepMs),
    countAttemptsPerStep(database, attempts, stepMs),
    sumBuckets(database, 'latency', attempts),
    sumBuckets(database, 'slow_latency', attempts),
    sumBuckets(database, 'durations', attempts),
    listFailingEndpoints(database, attempts, maxFailingEndpoints),
    inboxDepth(database),
    countDeliveries(dependencies, query, range),
  ])
  return {
    funnel: { ...doorFunnel(atDoor), ...deliveries },
    rejectedReasons: rejectedReasons(atDoor),
    series: series(range, stepMs, doorSteps, attemptSteps),
    latency: percentiles(latency, slow),
    attemptDuration: percentiles(durations),
    failingEndpoints: failing.flatMap((health) => failingEndpoint(settings, health)),
    inboxDepth: depth,
  }
}

const percentiles = (buckets: readonly number[], slow?: readonly number[]): Overview['latency'] => ({
  p50Ms: percentile(buckets, 0.5, slow),
  p95Ms: percentile(buckets, 0.95, slow),
})

interface Range {
  since: Date
  until: Date
}

/** Whole minutes, as everything is counted. */
function rangeOf({ since, until }: OverviewQuery): Range {
  const end = until === undefined ? Date.now() : Date.parse(until)
  const begin = since === undefined ? end - defaultRangeMs : Date.parse(since)
  if (begin >= end) throw new AppError('bad_request', 'since must be before until', { path: 'since' })
  if (end - begin > maxRangeMs)
    throw new AppError('bad_request', 'since: the range must be at most 31 days', { path: 'since' })
  return {
    since: new Date(Math.floor(begin / minuteMs) * minuteMs),
    until: new Date(Math.ceil(end / minuteMs) * minuteMs),
  }
}

const stepOf = ({ since, until }: Range): number =>
  stepsMs.find((stepMs) => (until.getTime() - since.getTime()) / stepMs <= maxSteps) ?? stepsMs.at(-1) ?? minuteMs

/** Whose events count at the door: the door knows no destinations, so those of the destination's sources. */
function sourcesOf(settings: Settings, { sourceId, destinationId }: OverviewQuery): string[] | undefined {
  if (sourceId !== undefined) return [sourceId]
  if (destinationId === undefined) return undefined
  return settings.destination(destinationId)?.sourceIds ?? []
}

/** Whose attempts count: attempts know no sources, so those of the source's destinations. */
function destinationsOf(settings: Settings, { sourceId, destinationId }: OverviewQuery): string[] | undefined {
  if (destinationId !== undefined) return [destinationId]
  if (sourceId === undefined) return undefined
  return [...settings.destinations()].filter(({ sourceIds }) => sourceIds.includes(sourceId)).map(({ id }) => id)
}

/** One count per status; all but `queued` are null when Temporal does not answer. */
async function countDeliveries(
  { deliveryLog, partLimits, logger }: OverviewDependencies,
  { sourceId, destinationId }: OverviewQuery,
  { since, until }: Range,
): Promise<Record<StartedStatus, number | null> & { queued: number }> {
  const filter = {
    since: since.toISOString(),
    until: until.toISOString(),
    ...(sourceId !== undefined && { sourceId }),
    ...(destinationId !== undefined && { destinationId }),
  }
  const [{ queued, failed, cancelled }, started] = await Promise.all([
    deliveryLog.countInboxed(filter),
    within(
      countLimitMs,
      'Temporal',
      partLimits.whilePresent(['temporal'], () => deliveryLog.countResults(filter)),
    ).catch((error: Error) => {
      logger.warn({ error: error.message }, 'overview.not_counted')
      return undefined
    }),
  ])
  if (started === undefined) return { ...uncounted, queued }
  return { ...started, queued, failed: started.failed + failed, cancelled: started.cancelled + cancelled }
}

const uncounted = Object.fromEntries(deliveryStatuses.map((status) => [status, null])) as Record<StartedStatus, null>

const sum = (counts: readonly { events: number }[]): number => counts.reduce((total, { events }) => total + events, 0)

function doorFunnel(counts: DoorCount[]) {
  const of = (...fates: string[]): number => sum(counts.filter(({ fate }) => fates.includes(fate)))
  return {
    received: of(...doorFates),
    // A dropped event was refused too; only its sender got no error.
    rejected: of('rejected', 'dropped'),
    filtered: of('filtered'),
    noDestination: of('no_destination'),
    suppressed: of('suppressed'),
    duplicate: of('duplicate'),
    accepted: of('accepted'),
  }
}

function rejectedReasons(counts: DoorCount[]): Overview['rejectedReasons'] {
  const byReason = new Map<string, number>()
  for (const { fate, reason, events } of counts)
    if (fate === 'rejected' || fate === 'dropped') byReason.set(reason, (byReason.get(reason) ?? 0) + events)
  return [...byReason]
    .map(([reason, events]) => ({ reason, events }))
    .sort((a, b) => b.events - a.events || a.reason.localeCompare(b.reason))
}

function series(
  { since, until }: Range,
  stepMs: number,
  doorSteps: StepCount[],
  attemptSteps: AttemptStep[],
): Overview['series'] {
  const steps = Math.ceil((until.getTime() - since.getTime()) / stepMs)
  return Array.from({ length: steps }, (_, index) => {
    const at = new Date(since.getTime() + index * stepMs)
    const isHere = (step: { at: Date }): boolean => step.at.getTime() === at.getTime()
    const { received, accepted, rejected } = doorFunnel(
      doorSteps.filter(isHere).map(({ fate, events }) => ({ fate, events, reason: '' })),
    )
    const { delivered = 0, failed = 0 } = attemptSteps.find(isHere) ?? {}
    return { at: at.toISOString(), received, accepted, rejected, delivered, failed }
  })
}

/** Nothing for an endpoint that was removed, or whose destination is switched off. */
function failingEndpoint(
  settings: Settings,
  { destinationId, endpointId, failingSince, reason, isFinal, failed }: FailingEndpoint,
): Overview['failingEndpoints'] {
  const destination = settings.destination(destinationId)
  const url = destination?.settings.webhooks.find(({ id }) => id === endpointId)?.url
  if (url === undefined || destination?.enabled !== true || failingSince === null) return []
  const since = failingSince.toISOString()
  return [{ destinationId, endpointId, url, reason: reason ?? 'failed', isFinal, since, failed }]
}
