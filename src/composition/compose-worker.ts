/** The role worker: what asks Temporal for work, and the duties beside it. */

import type { Config } from '../config.ts'
import { prepareWorker, type NodeWorker, type WorkerLimits } from '../temporal/worker.ts'
import type { WorkflowCode } from '../temporal/workflow-code.ts'
import { composeDuties } from './compose-duties.ts'
import type { Foundation } from './compose-foundation.ts'
import type { Services } from './compose-services.ts'

/** Does not begin before `start`. */
export function composeWorker(
  config: Config,
  foundation: Foundation,
  { deliveries, audiences, deletions, holds, alerts }: Services,
  { workflowCode, workerLimits }: { workflowCode: WorkflowCode; workerLimits?: WorkerLimits },
): NodeWorker {
  const activities = {
    ...deliveries.activities,
    ...audiences.activities,
    ...deletions.activities,
    ...holds.activities,
    ...alerts.activities,
  }
  const worker = prepareWorker(foundation.temporal, workflowCode, activities, foundation.logger, workerLimits)
  const parts = [worker, composeDuties({ ...foundation, config }), holds.watch(), alerts.watch()]
  return {
    ...worker,
    async stop() {
      await Promise.all(parts.map((part) => part.stop()))
    },
  }
}

/** Of a node without the role. */
export const noWorker: NodeWorker = {
  start: async () => {},
  deadReason: () => undefined,
  stop: async () => {},
}
