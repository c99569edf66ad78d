import type { WaitingTry } from '../contracts/delivery.ts'
import type { Temporal } from './connection.ts'
import { isNotFound, isSettingsFault } from './grpc-errors.ts'

/** How long one call may take, in milliseconds. */
const callLimitMs = 2_000

/** Lets Temporal repeat an activity now that it would repeat after a pause. What is over, or makes a try just now, stays as it is; so does
 *  everything on a server that cannot wake activities.
 *  @returns whether it waited
 *  @throws Error when Temporal does not answer */
export async function wakeActivity(
  { connection, client, namespace }: Temporal,
  { workflowId, runId, activityId }: WaitingTry,
): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + callLimitMs, () =>
      client.workflowService.resetActivity({
        namespace,
        execution: { workflowId, runId },
        id: activityId,
        // An operator may have paused it in Temporal.
        keepPaused: true,
      }),
    )
    return true
  } catch (error) {
    if (!isNotFound(error) && !isSettingsFault(error)) throw error
    return false
  }
}
