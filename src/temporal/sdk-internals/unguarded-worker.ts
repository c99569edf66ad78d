/** A worker without the SDK's guard against endless loops in workflow code. */

import { Worker } from '@temporalio/worker'

/** The guard is a time limit on each of the 8 calls into a workflow's context that an event takes, for which Node starts and
 *  joins a thread. Workflow code here waits in each of its loops. */
export class UnguardedWorker extends Worker {
  protected static override createWorkflowCreator(
    ...[bundle, options, logger]: Parameters<typeof Worker.createWorkflowCreator>
  ): ReturnType<typeof Worker.createWorkflowCreator> {
    // The SDK has no option for none, and Node takes undefined for it.
    const isolateExecutionTimeoutMs = undefined as unknown as number
    return super.createWorkflowCreator(bundle, { ...options, isolateExecutionTimeoutMs }, logger)
  }
}
