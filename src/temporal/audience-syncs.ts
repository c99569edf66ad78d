/** Starting, steering and asking the workflow that runs an audience's syncs, and the deliveries that it handed on. */

import { WorkflowNotFoundError } from '@temporalio/client'
import { audienceSignals, audienceWorkflowId, progressQuery, type SyncProgress } from '../contracts/audiences.ts'
import { taskQueue, type SearchAttributeName } from '../contracts/names.ts'
import type { syncAudience } from '../../workflows/sync-audience.ts'
import type { Temporal } from './connection.ts'

/** How long Temporal may take to start a workflow, in milliseconds. */
const startLimitMs = 5_000

/** Sees to it that the requested sync is run: by the workflow that runs already, or a new one. */
export async function runRequestedSync({ client, connection }: Temporal, audienceId: string): Promise<void> {
  await connection.withDeadline(Date.now() + startLimitMs, () =>
    client.workflow.signalWithStart<typeof syncAudience>('syncAudience', {
      workflowId: audienceWorkflowId(audienceId),
      taskQueue,
      args: [{ audienceId }],
      signal: audienceSignals.syncRequested,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `syncs of ${audienceId}`,
      priority: { priorityKey: 5 },
    }),
  )
}

/** Tells a running sync to stop; nothing happens when its workflow has ended. */
export async function stopRunningSync({ client }: Temporal, audienceId: string, syncId: string): Promise<void> {
  await unlessNotFound(
    client.workflow.getHandle(audienceWorkflowId(audienceId)).signal(audienceSignals.stopSync, syncId),
  )
}

/** Progress as the workflow knows it; undefined when none ran. */
export async function syncProgress({ client }: Temporal, audienceId: string): Promise<SyncProgress | undefined> {
  return unlessNotFound(client.workflow.getHandle(audienceWorkflowId(audienceId)).query<SyncProgress>(progressQuery))
}

/** What became of a delivery; one that Temporal no longer knows counts as failed, so that it is made again. */
export async function deliveryState(
  { client }: Temporal,
  workflowId: string,
): Promise<'running' | 'delivered' | 'failed'> {
  const description = await unlessNotFound(client.workflow.getHandle(workflowId).describe())
  if (description?.status.name === 'RUNNING') return 'running'
  if (description?.status.name !== 'COMPLETED') return 'failed'
  const outcome = description.typedSearchAttributes.get({ name: outcomeAttribute, type: 'KEYWORD' })
  return outcome === 'discarded' ? 'failed' : 'delivered'
}

const outcomeAttribute: SearchAttributeName = 'PostriderOutcome'

/** Ends a delivery whose news is old. */
export async function endDelivery({ client }: Temporal, workflowId: string, reason: string): Promise<void> {
  await unlessNotFound(client.workflow.getHandle(workflowId).terminate(reason))
}

async function unlessNotFound<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined
    throw error
  }
}
