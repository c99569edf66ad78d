/** Whether some node asks Temporal for work. */

import proto from '@temporalio/proto'
import { taskQueue } from '../contracts/names.ts'
import type { Temporal } from './connection.ts'

/** A worker without work asks once a minute; one that has not asked for so long is gone, in milliseconds. */
const goneAfterMs = 90_000

/** @throws Error when none has asked for long. A Temporal that does not answer tells nothing of workers */
export async function assertPolled(temporal: Temporal): Promise<void> {
  const askedAt = await lastAsked(temporal).catch(() => undefined)
  if (askedAt !== undefined && Date.now() - askedAt > goneAfterMs)
    throw new Error('no node with the role worker asks Temporal for work')
}

/** In milliseconds since 1970; -Infinity when Temporal knows of no worker. */
async function lastAsked({ connection, namespace }: Temporal): Promise<number> {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
  })
  return Math.max(...pollers.map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000))
}
