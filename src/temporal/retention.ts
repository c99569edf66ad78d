/** How long Temporal keeps finished deliveries. */

import type { ConnectionLike } from '@temporalio/client'
import { durationMs, toDuration } from './durations.ts'

/**
 * Sets the namespace's retention unless it is so already. Workflows that are closed later count; those closed
 * before keep the old one.
 * @param retentionMs  at least `minRetentionMs` of the settings, otherwise the server refuses it
 * @returns whether it was changed
 */
export async function ensureRetention(
  connection: ConnectionLike,
  namespace: string,
  retentionMs: number,
): Promise<boolean> {
  const { config } = await connection.workflowService.describeNamespace({ namespace })
  if (durationMs(config?.workflowExecutionRetentionTtl) === retentionMs) return false
  await connection.workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: toDuration(retentionMs) },
  })
  return true
}
