/** The worker: runs workflows and activities of this node, and comes back when it fails. */

import { Worker } from '@temporalio/worker'
import { taskQueue } from '../contracts/names.ts'
import type { Logger } from '../logger.ts'
import type { Temporal } from './connection.ts'
import type { WorkflowCode } from './workflow-code.ts'

/** A first attempt that waits for a slow endpoint holds a workflow task; these are the slots for them. */
const maxWorkflowTasks = 400
const maxLocalActivities = 400
const maxActivities = 200

/** Workflows kept in memory between their tasks; others are replayed from history when they wake. */
const maxCachedWorkflows = 500

const restartPauseMs = 1_000

export interface RunningWorker {
  /** Lets running attempts finish, within a bound, and stops polling. */
  stop(): Promise<void>
}

/** A worker whose workflows run without the SDK's guard against endless loops: a time limit on each of the 8 calls into their
 *  context that an event takes, for which Node starts and joins a thread. That was half of the time that an event spent in
 *  workflow code, and more on a busy machine. Workflow code here waits in each of its loops. */
class UnguardedWorker extends Worker {
  protected static override createWorkflowCreator(
    ...[bundle, options, logger]: Parameters<typeof Worker.createWorkflowCreator>
  ): ReturnType<typeof Worker.createWorkflowCreator> {
    // The SDK has no option for none, and Node takes undefined for it.
    const isolateExecutionTimeoutMs = undefined as unknown as number
    return super.createWorkflowCreator(bundle, { ...options, isolateExecutionTimeoutMs }, logger)
  }
}

/** @param activities  implementations of everything that the workflows call */
export async function runWorker(
  temporal: Temporal,
  code: WorkflowCode,
  activities: object,
  logger: Logger,
): Promise<RunningWorker> {
  let stopping = false
  let worker = await createWorker(temporal, code, activities)
  const running = (async () => {
    while (!stopping) {
      try {
        await worker.run()
      } catch (error) {
        if (stopping) return
        logger.error({ error: (error as Error).message }, 'worker.failed')
        await new Promise((resolve) => setTimeout(resolve, restartPauseMs))
        worker = await createWorker(temporal, code, activities)
      }
    }
  })()
  return {
    async stop() {
      stopping = true
      if (worker.getState() === 'RUNNING') worker.shutdown()
      await running
    },
  }
}

const createWorker = ({ connection, namespace }: Temporal, code: WorkflowCode, activities: object): Promise<Worker> =>
  UnguardedWorker.create({
    connection,
    namespace,
    taskQueue,
    activities,
    ...code,
    maxConcurrentWorkflowTaskExecutions: maxWorkflowTasks,
    maxConcurrentLocalActivityExecutions: maxLocalActivities,
    maxConcurrentActivityTaskExecutions: maxActivities,
    maxCachedWorkflows,
    maxHeartbeatThrottleInterval: '1 second',
    shutdownGraceTime: '8 seconds',
    shutdownForceTime: '15 seconds',
  })
