/** Attempts that were made, and of which Temporal took no account: their node stood still until they were given up. */

import { attemptKey } from '../contracts/attempts.ts'
import type { Attempt } from '../contracts/delivery.ts'
import type { Queryable } from './database.ts'

export interface LateAttempt {
  /** Id of its delivery's workflow; of an event in a parcel, the one that it would have by itself. */
  workflowId: string
  attempt: Attempt
}

/** Adds those that are not there yet. */
export async function addLateAttempts(database: Queryable, late: readonly LateAttempt[]): Promise<void> {
  await database.query(
    `insert into late_attempts (workflow_id, key, at, attempt)
     select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::json[]) on conflict do nothing`,
    [
      late.map(({ workflowId }) => workflowId),
      late.map(({ attempt }) => attemptKey(attempt)),
      late.map(({ attempt }) => attempt.at),
      late.map(({ attempt }) => JSON.stringify(attempt)),
    ],
  )
}

/** Those of a delivery, which may be known otherwise, too. @param workflowIds  those that its workflow may have */
export async function readLateAttempts(database: Queryable, workflowIds: readonly string[]): Promise<Attempt[]> {
  const rows = await database.query<{ attempt: Attempt }>(
    'select attempt from late_attempts where workflow_id = any($1) order by at',
    [[...workflowIds]],
  )
  return rows.map(({ attempt }) => attempt)
}

/** How many there are of each of these deliveries that has any. */
export async function countLateAttempts(
  database: Queryable,
  workflowIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await database.query<{ workflowId: string; count: number }>(
    `select workflow_id as "workflowId", count(*)::int as count from late_attempts where workflow_id = any($1)
     group by workflow_id`,
    [[...workflowIds]],
  )
  return new Map(rows.map(({ workflowId, count }) => [workflowId, count]))
}

export async function removeLateAttemptsBefore(database: Queryable, moment: Date): Promise<void> {
  await database.query('delete from late_attempts where at < $1', [moment])
}
