/** Steers all deliveries that match a filter: in a workflow of its own, so that it outlives this node and can be watched. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { WorkflowNotFoundError } from '@temporalio/client'
import type { SteeringTrace } from '../contracts/delivery.ts'
import { taskQueue } from '../contracts/names.ts'
import {
  noteFailure,
  steeredInInbox,
  steeringWorkflowId,
  type SteerDeliveriesInput,
  type SteeringOrder,
  type SteeringProgress,
} from '../contracts/steering.ts'
import { AppError } from '../errors.ts'
import type { BulkSteering, DeliveryFilter } from '../schemas/delivery.ts'
import type { steerDeliveries } from '../../workflows/steer-deliveries.ts'
import type { Temporal } from './connection.ts'
import { deliveryQuery, startedBefore, storedFilter } from './delivery-query.ts'
import { first } from './history.ts'
import { opened } from './opened.ts'
import { visibilityLagMs } from './visibility-lag.ts'

type BulkOrder = Exclude<SteeringOrder, { action: 'recheck' }>

/** Only what was there before `until`. */
type BoundedFilter = DeliveryFilter & { until: string }

export interface BulkSteerings {
  /** Starts to steer all deliveries that match now. */
  start(order: BulkOrder, filter: DeliveryFilter, trace: SteeringTrace): Promise<BulkSteering>
  /** @throws AppError not_found */
  read(id: string): Promise<BulkSteering>
  /** Stops it where it is. @throws AppError not_found */
  stop(id: string): Promise<void>
}

export interface BulkSteeringDependencies {
  temporal: Temporal
  /** Ids of the destinations that hold their deliveries now. */
  pausedDestinations: () => string[]
  /** How many events of parcels match. */
  countCarried: (filter: DeliveryFilter) => Promise<number>
  /** How many events of the inbox match. */
  countQueued: (filter: DeliveryFilter) => Promise<number>
}

export function createBulkSteerings(dependencies: BulkSteeringDependencies): BulkSteerings {
  const { temporal, pausedDestinations, countCarried, countQueued } = dependencies

  /** What of the deliveries that have started is steered. */
  const ofStarted = (filter: BoundedFilter): Pick<SteerDeliveriesInput, 'query' | 'carried'> => {
    if (filter.status === 'queued') return {}
    const { until: _, ...asked } = filter
    return { query: deliveryQuery(storedFilter(asked, temporal.names), pausedDestinations()), carried: filter }
  }

  const count = async ({ query, carried, until }: SteerDeliveriesInput, queued: DeliveryFilter[]): Promise<number> => {
    const counts = await Promise.all([
      ...queued.map(countQueued),
      ...(carried === undefined ? [] : [countCarried(carried)]),
      ...(query === undefined ? [] : [countStarted(`${query} AND ${startedBefore(new Date(until))}`)]),
    ])
    return counts.reduce((sum, one) => sum + one, 0)
  }
  const countStarted = async (query: string): Promise<number> => (await temporal.client.workflow.count(query)).count

  return {
    async start(order, filter, trace) {
      const orderedAt = new Date().toISOString()
      const until = toUtc(filter.until ?? orderedAt)
      const bounded = { ...filter, until }
      const queued = steeredInInbox(order.action, filter.status).map((status) => ({ ...bounded, status }))
      const [inInbox, ...others] = queued
      if (filter.status === 'queued' && inInbox === undefined)
        throw new AppError('bad_request', 'status: queued events can only be cancelled, and start in their turn', {
          path: 'status',
        })
      // So that it matches what its caller saw happen.
      await sleep(visibilityLagMs)
      const input = {
        ...{ order, until, orderedAt, trace, matched: 0 },
        ...(inInbox !== undefined && { queued: { filter: others.length === 0 ? inInbox : bounded, orderedAt } }),
        ...ofStarted(bounded),
      }
      const matched = await count(input, queued)
      const id = randomUUID()
      await temporal.client.workflow.start<typeof steerDeliveries>('steerDeliveries', {
        workflowId: steeringWorkflowId(id),
        taskQueue,
        args: [{ ...input, matched }],
        staticSummary: `${order.action}: ${matched} deliveries`,
      })
      return { id, action: order.action, status: 'running', matched, done: 0, failed: 0, failures: [] }
    },
    read: (id) => notFoundAs404(id, () => read(temporal, id)),
    stop: (id) =>
      notFoundAs404(id, async () => void (await temporal.client.workflow.getHandle(steeringWorkflowId(id)).cancel())),
  }
}

const toUtc = (time: string): string => new Date(time).toISOString()

async function read({ client, payloads }: Temporal, id: string): Promise<BulkSteering> {
  const handle = client.workflow.getHandle(steeringWorkflowId(id))
  const { status, raw } = await handle.describe()
  const [pending] = opened(payloads, raw.pendingActivities ?? [])
  const events = opened(payloads, (await handle.fetchHistory()).events ?? [])
  const started = events[0]?.workflowExecutionStartedEventAttributes
  const input = first<SteerDeliveriesInput>(started?.input) as SteerDeliveriesInput
  const completed = events.at(-1)?.workflowExecutionCompletedEventAttributes
  const stopped = events.find((event) => event.activityTaskCanceledEventAttributes)?.activityTaskCanceledEventAttributes
  const progress = first<SteeringProgress>(completed?.result ?? pending?.heartbeatDetails ?? stopped?.details)
  const { done = 0, failed = 0, failures = [] } = progress ?? {}
  const left = status.name === 'COMPLETED' ? Math.max(0, input.matched - done - failed) : 0
  if (left > 0) noteFailure(failures, notMet, left)
  return {
    id,
    action: input.order.action === 'recheck' ? 'retry' : input.order.action,
    status: statuses[status.name] ?? 'failed',
    // What left the inbox while it was counted was not counted.
    matched: Math.max(input.matched, done + failed),
    done,
    failed: failed + left,
    failures,
  }
}

/** Of what was counted and not met: it ended meanwhile, or a node was lost before it could count it. */
const notMet = 'it no longer matched when it was its turn, or was done by a node that was lost then'

const statuses: Record<string, BulkSteering['status']> = {
  RUNNING: 'running',
  COMPLETED: 'completed',
  CANCELLED: 'stopped',
  TERMINATED: 'stopped',
}

async function notFoundAs404<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw new AppError('not_found', `no bulk steering has the id ${id}`)
    throw error
  }
}
