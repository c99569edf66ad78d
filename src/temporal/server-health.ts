/** Whether a Temporal server is able to work. */

import { Connection } from '@temporalio/client'
import { persistenceFault } from './grpc-errors.ts'

/** `broken`: it answers, with an error that its database cannot be read, and says why. `silent`: it gives no answer that
 *  tells, as one that is frozen, overloaded, starting or gone. */
export type ServerHealth = { kind: 'serving' } | { kind: 'broken'; reason: string } | { kind: 'silent' }

/** The service's name in gRPC's health protocol. */
const healthService = 'temporal.api.workflowservice.v1.WorkflowService'
const serving = 1
/** The library's own pause of a second would make every start that much slower. */
const channelArgs = { 'grpc.initial_reconnect_backoff_ms': 50 }

/** A connection that tells an error at once: the usual one repeats the call until its time is over, and tells that instead. */
export const connectPlainly = (address: string): Connection =>
  Connection.lazy({ address, channelArgs, interceptors: [] })

/** Asks the server, at most for `timeoutMs`, how it does: its namespace is read from its database each time. */
export async function lookAtServer(
  connection: Connection,
  namespace: string,
  timeoutMs: number,
): Promise<ServerHealth> {
  const { healthService: health, workflowService } = connection
  try {
    return await connection.withDeadline(Date.now() + timeoutMs, async () => {
      const { status } = await health.check({ service: healthService })
      await workflowService.describeNamespace({ namespace })
      return { kind: Number(status) === serving ? 'serving' : 'silent' }
    })
  } catch (error) {
    const reason = persistenceFault(error)
    return reason === undefined ? { kind: 'silent' } : { kind: 'broken', reason }
  }
}

/** True when the server says that it serves and knows the namespace; false when not, or not within `timeoutMs`. */
export async function isServing(address: string, namespace: string, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  let connection: Connection | undefined
  try {
    connection = await Connection.connect({ address, connectTimeout: timeoutMs, channelArgs })
    return (await lookAtServer(connection, namespace, deadline - Date.now())).kind === 'serving'
  } catch {
    return false
  } finally {
    await connection?.close()
  }
}
