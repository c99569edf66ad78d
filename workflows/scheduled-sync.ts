/** What a Schedule starts: a sync of the audience, skipped when one runs already. */

import { executeChild } from '@temporalio/workflow'
import { audienceWorkflowId } from '../src/contracts/audience-sync.ts'
import { syncAudience } from './sync-audience.ts'

/** Runs a scheduled sync, and ends when it has ended, so that the Schedule sees whether runs overlap. */
export async function scheduledSync({ audienceId }: { audienceId: string }): Promise<'ended' | 'skipped'> {
  try {
    await executeChild(syncAudience, {
      workflowId: audienceWorkflowId(audienceId),
      args: [{ audienceId, scheduled: true }],
      parentClosePolicy: 'ABANDON',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    })
    return 'ended'
  } catch (error) {
    if ((error as Error).name === 'WorkflowExecutionAlreadyStartedError') return 'skipped'
    throw error
  }
}
