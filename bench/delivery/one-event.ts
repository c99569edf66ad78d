/** What one event costs Temporal, and how long it takes on an idle node. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { quantile, type Report } from '../support/figures.ts'
import type { BenchNode } from '../support/node.ts'
import { startBenchReceiver } from '../support/receiver.ts'
import { arrivalLimitMs, connect, latencies, post } from './events.ts'

/** An event whose first round succeeds. */
export async function measureCost(node: BenchNode, { add }: Report): Promise<void> {
  const receiver = await startBenchReceiver()
  const source = await connect(node, receiver.url)
  await post(node, source, 'cost-1')
  await receiver.arrived(1, arrivalLimitMs)
  await sleep(1_000)
  const connection = await Connection.connect({ address: node.temporalAddress })
  const namespace = 'default'
  const query = `PostriderSource = '${source.id}'`
  const { executions } = await connection.workflowService.listWorkflowExecutions({ namespace, query })
  const which = { namespace, execution: executions[0]?.execution ?? null }
  const { workflowExecutionInfo: info } = await connection.workflowService.describeWorkflowExecution(which)
  const { history } = await connection.workflowService.getWorkflowExecutionHistory(which)
  await connection.close()
  receiver.stop()
  const input = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data?.length ?? 0
  add('state transitions of an event', Number(info?.stateTransitionCount), '', { most: 2 })
  add('history beyond the payload', Number(info?.historySizeBytes) - input, 'B', { most: 4_096 })
}

export async function measureIdleLatency(node: BenchNode, { add }: Report): Promise<void> {
  const receiver = await startBenchReceiver()
  const source = await connect(node, receiver.url)
  await latencies(node, source, receiver.arrivals, 50, 10)
  const times = await latencies(node, source, receiver.arrivals, 300, 10)
  receiver.stop()
  add('idle, post to arrival, p50', quantile(times, 0.5), 'ms', { most: 15 })
  add('idle, post to arrival, p99', quantile(times, 0.99), 'ms', { most: 60 })
}
