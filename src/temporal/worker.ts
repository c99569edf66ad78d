/** The worker: runs workflows and activities of this node, and comes back when it fails. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from '@temporalio/worker'
import { taskQueue } from '../contracts/names.ts'
import type { Logger } from '../logger.ts'
import { unlessAborted } from '../unless-aborted.ts'
import type { Temporal } from './connection.ts'
import { dataConverter } from './data-converter.ts'
import { isUnanswered } from './sdk-internals/unanswered-worker.ts'
import './sdk-internals/unmade-workers.ts'
import { traceWorkflows } from './trace-workflows.ts'
import { UnguardedWorker } from './sdk-internals/unguarded-worker.ts'
import type { WorkflowCode } from './workflow-code.ts'

/** A first attempt that waits for a slow endpoint holds a workflow task; these are the slots for them. */
const maxWorkflowTasks = 400
const maxLocalActivities = 400
const maxActivities = 200

/** Workflows kept in memory between their tasks; others are replayed from history when they wake. */
const maxCachedWorkflows = 500

/** Pauses before a new worker takes the place of one that failed: the first, doubled each time up to the longest. */
const firstPauseMs = 1_000
const longestPauseMs = 30_000

/** When a worker counts as working again, and when workers that go on failing count as dead for good, in milliseconds. */
export interface WorkerLimits {
  /** Longer than a worker goes on asking a Temporal that refuses it: that ends the worker after a minute. */
  healthyMs: number
  deadAfterMs: number
}
const defaultLimits: WorkerLimits = { healthyMs: 90_000, deadAfterMs: 120_000 }

export interface NodeWorker {
  /** Begins; resolves when the first worker is made. */
  start(): Promise<void>
  /** Why no worker has been working for long; undefined when one works, waits for a Temporal that does not answer, or has
   *  failed only lately. */
  deadReason(): string | undefined
  /** Stops polling at once, and lets running attempts finish within a bound; further calls wait too. */
  stop(): Promise<void>
}

/** Keeps a worker at work from `start` until it is stopped: one that fails, or cannot be made, is followed by another.
 *  @param activities  implementations of everything that the workflows call */
export function prepareWorker(
  temporal: Temporal,
  code: WorkflowCode,
  activities: object,
  logger: Logger,
  { healthyMs, deadAfterMs }: WorkerLimits = defaultLimits,
): NodeWorker {
  const stopping = new AbortController()
  let worker: Worker | undefined
  let failing: { since: number; message: string; pauseMs: number } | undefined
  let running = Promise.resolve()

  const runOne = async (onMade: () => void): Promise<void> => {
    const making = createWorker(temporal, code, activities)
    // A stop does not wait for a Temporal that does not answer.
    worker = await unlessAborted(making, stopping.signal).catch((error: unknown) => {
      if (stopping.signal.aborted) void making.then(endUnused).catch(() => {})
      throw error
    })
    onMade()
    const healthy = setTimeout(() => (failing = undefined), healthyMs).unref()
    const ended = worker.run()
    if (stopping.signal.aborted) worker.shutdown()
    await ended.finally(() => clearTimeout(healthy))
  }

  /** @returns how long to pause before the next one is made, in milliseconds */
  const noteFailure = ({ message }: Error): number => {
    const pauseMs = Math.min(longestPauseMs, failing === undefined ? firstPauseMs : 2 * failing.pauseMs)
    failing = { since: failing?.since ?? performance.now(), message, pauseMs }
    logger.error({ error: message, pauseMs }, 'worker.failed')
    return pauseMs
  }

  const run = async (onMade: () => void): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await runOne(onMade)
      } catch (error) {
        if (stopping.signal.aborted) return
        // That Temporal is away is told by who looks after all parts, and is no fault of the worker.
        const pauseMs = isUnanswered(error) ? firstPauseMs : noteFailure(error as Error)
        await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
      }
    }
  }

  return {
    start: () =>
      new Promise((resolve) => {
        running = run(resolve).finally(resolve)
      }),
    deadReason: () =>
      failing === undefined || performance.now() - failing.since < deadAfterMs
        ? undefined
        : `the worker goes on failing: ${failing.message}`,
    async stop() {
      stopping.abort()
      if (worker?.getState() === 'RUNNING') worker.shutdown()
      await running
    },
  }
}

/** Only one that runs can be ended. */
function endUnused(worker: Worker): Promise<void> {
  const ended = worker.run()
  worker.shutdown()
  return ended
}

const createWorker = (
  { connection, namespace, payloads, tracing }: Temporal,
  code: WorkflowCode,
  activities: object,
): Promise<Worker> =>
  UnguardedWorker.create({
    connection,
    namespace,
    taskQueue,
    activities,
    dataConverter: dataConverter(payloads),
    sinks: traceWorkflows(tracing),
    ...code,
    maxConcurrentWorkflowTaskExecutions: maxWorkflowTasks,
    maxConcurrentLocalActivityExecutions: maxLocalActivities,
    maxConcurrentActivityTaskExecutions: maxActivities,
    maxCachedWorkflows,
    maxHeartbeatThrottleInterval: '1 second',
    shutdownGraceTime: '8 seconds',
    shutdownForceTime: '15 seconds',
  })
