import type { Temporal } from './connection.ts'

/** How many deliveries have the names that callers gave as they are: an earlier version started them. */
export async function countPlain({ client }: Pick<Temporal, 'client'>): Promise<number> {
  const { count } = await client.workflow.count(
    `WorkflowType = 'deliverEvent' AND PostriderMessageId NOT STARTS_WITH '~'`,
  )
  return count
}
