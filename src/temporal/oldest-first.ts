/** Walks workflows from the oldest on. Temporal's SQL visibility lists the newest first and cannot be told otherwise, so
 *  that the time between is halved until a part is small enough to be turned round. */

import { toIso, type ExecutionInfo } from './delivery-row.ts'
import type { Temporal } from './connection.ts'

/** Workflows in a part that is read at once. */
const partSize = 200

export interface OldWorkflow {
  workflowId: string
  startedAt: Date
}

/** Yields the workflows of `query` that started in [from, until), in groups by age.
 *  @param query  without conditions on the start time */
export async function* oldestFirst(
  temporal: Temporal,
  query: string,
  from: Date,
  until: Date,
): AsyncGenerator<OldWorkflow[]> {
  const part = `${query} AND StartTime >= '${from.toISOString()}' AND StartTime < '${until.toISOString()}'`
  const { count } = await temporal.client.workflow.count(part)
  if (count === 0) return
  const length = until.getTime() - from.getTime()
  if (count <= partSize || length <= 1) {
    yield await listAll(temporal, part, count)
    return
  }
  const middle = new Date(from.getTime() + Math.floor(length / 2))
  yield* oldestFirst(temporal, query, from, middle)
  yield* oldestFirst(temporal, query, middle, until)
}

async function listAll({ client, namespace }: Temporal, query: string, count: number): Promise<OldWorkflow[]> {
  const { executions } = await client.workflowService.listWorkflowExecutions({
    namespace,
    query,
    pageSize: Math.min(count + partSize, 1_000),
  })
  return executions
    .map((info: ExecutionInfo) => ({
      workflowId: info.execution?.workflowId ?? '',
      startedAt: new Date(toIso(info.startTime) ?? 0),
    }))
    .sort((a, b) => a.startedAt.getTime() - b.startedAt.getTime())
}
