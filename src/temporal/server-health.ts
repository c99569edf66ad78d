/** Whether a Temporal server is able to work. */

import { Connection } from '@temporalio/client'

/** The service's name in gRPC's health protocol. */
const healthService = 'temporal.api.workflowservice.v1.WorkflowService'
const serving = 1
/** The library's own pause of a second would make every start that much slower. */
const channelArgs = { 'grpc.initial_reconnect_backoff_ms': 50 }

/** True when the server says that it serves and knows the namespace; false when not, or not within `timeoutMs`. */
export async function isServing(address: string, namespace: string, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  let connection: Connection | undefined
  try {
    connection = await Connection.connect({ address, connectTimeout: timeoutMs, channelArgs })
    const { healthService: health, workflowService } = connection
    return await connection.withDeadline(deadline, async () => {
      const { status } = await health.check({ service: healthService })
      await workflowService.describeNamespace({ namespace })
      return Number(status) === serving
    })
  } catch {
    return false
  } finally {
    await connection?.close()
  }
}
