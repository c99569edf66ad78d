import type { WaitingTry } from '../contracts/delivery.ts'
import type { Temporal } from './connection.ts'
import { isNotFound, isSettingsFault } from './grpc-errors.ts'

/** How long one call may take, in milliseconds. */
const callLimitMs = 2_000

/** Lets Temporal repeat an activity now that it would repeat after a pause. What is over stays as it is; so does everything on a server that
 *  cannot wake activities. Not for one that makes a try just now: Temporal takes no result of that try any more, and repeats it.
 *  @returns whether it is not over
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
