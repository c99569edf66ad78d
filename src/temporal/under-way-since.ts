import type { Temporal } from './connection.ts'

/** Whether a delivery is under way that began before a moment. */
export async function isUnderWaySince({ client }: Pick<Temporal, 'client'>, moment: Date): Promise<boolean> {
  const { count } = await client.workflow.count(
    `WorkflowType IN ('deliverEvent', 'deliverParcel') AND ExecutionStatus = 'Running' AND StartTime < '${moment.toISOString()}'`,
  )
  return count > 0
}
