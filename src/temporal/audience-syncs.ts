/** Starting, steering and asking the workflow that runs an audience's syncs, and the deliveries that it started for failed calls. */

import { WorkflowNotFoundError } from '@temporalio/client'
import { audienceSignals, audienceWorkflowId, type SyncAudienceInput } from '../contracts/audience-sync.ts'
import { taskQueue, type SearchAttributeName } from '../contracts/names.ts'
import type { syncAudience } from '../../workflows/sync-audience.ts'
import type { Temporal } from './connection.ts'
import { underEachId } from './under-each-id.ts'

/** How long Temporal may take to start a workflow, in milliseconds. */
const startLimitMs = 5_000

/** Sees to it that the requested sync is run: by the workflow that runs already, or a new one. */
export async function runRequestedSync(temporal: Temporal, audienceId: string): Promise<void> {
  await withinLimit(temporal, () =>
    temporal.client.workflow.signalWithStart<typeof syncAudience>('syncAudience', {
      ...workflowOptions(audienceId),
      signal: audienceSignals.syncRequested,
    }),
  )
}

/** Sees to it that the running sync has a workflow: one that Temporal has lost is started anew, and goes on with it. */
export async function keepSyncRunning(temporal: Temporal, audienceId: string): Promise<void> {
  await withinLimit(temporal, () =>
    temporal.client.workflow.start<typeof syncAudience>('syncAudience', workflowOptions(audienceId)),
  )
}

const withinLimit = <Result>({ connection }: Temporal, call: () => Promise<Result>): Promise<Result> =>
  connection.withDeadline(Date.now() + startLimitMs, call)

const workflowOptions = (audienceId: string) => ({
  workflowId: audienceWorkflowId(audienceId),
  taskQueue,
  args: [{ audienceId }] as [SyncAudienceInput],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  staticSummary: `syncs of ${audienceId}`,
  priority: { priorityKey: 5 },
})

/** Tells a running sync to stop; nothing happens when its workflow has ended. */
export async function stopRunningSync({ client }: Temporal, audienceId: string, syncId: string): Promise<void> {
  await unlessNotFound(
    client.workflow.getHandle(audienceWorkflowId(audienceId)).signal(audienceSignals.stopSync, syncId),
  )
}

/** What became of a delivery; one that Temporal no longer knows counts as failed, so that it is made again. */
export async function deliveryState(
  temporal: Temporal,
  deliveryId: string,
): Promise<'running' | 'delivered' | 'failed'> {
  const description = await unlessNotFound(
    underEachId(temporal, deliveryId, (id) => temporal.client.workflow.getHandle(id).describe()),
  )
  if (description?.status.name === 'RUNNING') return 'running'
  if (description?.status.name !== 'COMPLETED') return 'failed'
  const outcome = description.typedSearchAttributes.get({ name: outcomeAttribute, type: 'KEYWORD' })
  return outcome === 'discarded' ? 'failed' : 'delivered'
}

const outcomeAttribute: SearchAttributeName = 'PostriderOutcome'

/** Ends a delivery whose news is old. */
export async function endDelivery(temporal: Temporal, deliveryId: string, reason: string): Promise<void> {
  await unlessNotFound(
    underEachId(temporal, deliveryId, (id) => temporal.client.workflow.getHandle(id).terminate(reason)),
  )
}

async function unlessNotFound<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined
    throw error
  }
}
