import type { Temporal } from './connection.ts'
import { opened } from './opened.ts'

/** What Temporal tells of a workflow as it is now.
 *  @param execution  its last run unless given
 *  @throws AppError unavailable when the key of a payload is gone; whatever Temporal answers with */
export const describeExecution = async (
  { client, namespace, payloads }: Temporal,
  execution: { workflowId: string; runId?: string },
) => opened(payloads, await client.workflowService.describeWorkflowExecution({ namespace, execution }))
