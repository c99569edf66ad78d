/** How long Temporal keeps finished deliveries. */

import type { ConnectionLike } from '@temporalio/client'
import { durationMs, toDuration } from './durations.ts'

/** The shortest retention that a Temporal server accepts for a namespace of one cluster (`MinRetentionLocal`). */
export const minRetentionMs = 3_600_000

/**
 * Sets the namespace's retention unless it is so already. Workflows that are closed later count; those closed
 * before keep the old one.
 * @param retentionMs  at least `minRetentionMs`, otherwise the server refuses it
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
