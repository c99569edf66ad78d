import type { Database } from './db/database.ts'
import type { Temporal } from './temporal/connection.ts'

/** How long a look at Temporal may take, in milliseconds. */
const lookLimitMs = 2_000

/** Why a node cannot accept events; it can as long as the database or Temporal holds them. */
export async function notReadyReason(database: Database, { connection }: Temporal): Promise<string | undefined> {
  const answers = await Promise.allSettled([
    database.query('select 1'),
    connection.withDeadline(Date.now() + lookLimitMs, () => connection.workflowService.getSystemInfo({})),
  ])
  if (answers.some(({ status }) => status === 'fulfilled')) return undefined
  return 'neither Temporal nor the database answers'
}
