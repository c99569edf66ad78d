/** Walks workflows from the oldest on. Temporal's SQL visibility lists the newest first and has no other order, so
 *  that the time between is halved until a part is small enough to be turned round. */

import { toIso, type ExecutionInfo } from './delivery-row.ts'
import type { Temporal } from './connection.ts'

/** Workflows in a part that is read at once. */
const partSize = 200

export interface OldWorkflow {
  workflowId: string
  startedAt: Date
}

/** How far `beforeOldest` looks back at first, in milliseconds. */
const firstLookMs = 60 * 60 * 1_000

/** A moment before which no workflow of `query` started. Neither Temporal nor a setting tells: what runs is kept for ever, and
 *  what has ended for as long as the namespace said at that time. So it is looked for, twice as far back each time. */
export async function beforeOldest({ client }: Temporal, query: string, until: Date): Promise<Date> {
  for (let lookMs = firstLookMs; ; lookMs *= 2) {
    const from = new Date(Math.max(0, until.getTime() - lookMs))
    const { count } = await client.workflow.count(`${query} AND StartTime < '${from.toISOString()}'`)
    if (count === 0) return from
  }
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
