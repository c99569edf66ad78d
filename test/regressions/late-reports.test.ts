/** Symptom: an endpoint got events twice while Temporal or the node was slow, hundreds of them while a backlog was worked off; and of
 *  attempts that failed, the history of the delivery lacked some.
 *  Cause: a task whose report comes after its time limit is given out again, and the attempt was made again with it.
 *  Consequence: repeats, more load on what was slow already, and histories that are not what receivers got. */

import { rm } from 'node:fs/promises'
import { Client, Connection } from '@temporalio/client'
import { temporal as protocol } from '@temporalio/proto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { sendAnsweredInTurn, type AnswersInTurn } from '../support/answered-in-turn.ts'
import { makeDataFolder } from '../support/app.ts'
import { startNodeProcess, type NodeProcess } from '../support/node-process.ts'
import type { Answer } from '../support/receiver.ts'
import { testConverter } from '../support/sealed-payloads.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

/** Temporal gives a task up after 10 s. */
const givenUpLimitMs = 60_000

let node: NodeProcess
let client: Client
let connection: Connection
let dataDir: string
beforeEach(async () => {
  const namespace = await createNamespace()
  dataDir = await makeDataFolder()
  node = await startNodeProcess({ namespace, dataDir })
  connection = await Connection.connect({ address: temporalAddress() })
  client = new Client({ connection, namespace, dataConverter: testConverter })
})
afterEach(async () => {
  process.kill(node.pid, 'SIGCONT')
  await node.stop()
  await connection.close()
  await rm(dataDir, { recursive: true, force: true })
})

const { EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT } = protocol.api.enums.v1.EventType

/** Whether Temporal gave up what each delivery and parcel had under way. */
async function isGivenUp(): Promise<boolean> {
  let count = 0
  for await (const { workflowId } of client.workflow.list({ query: `ExecutionStatus = 'Running'` })) {
    const workflow = client.workflow.getHandle(workflowId)
    const [{ raw }, { events }] = [await workflow.describe(), await workflow.fetchHistory()]
    const isTaskLate = events?.some(({ eventType }) => eventType === EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT)
    const isActivityLate = raw.pendingActivities?.some(({ lastFailure }) => Boolean(lastFailure?.timeoutFailureInfo))
    if (isTaskLate !== true && isActivityLate !== true) return false
    count++
  }
  return count > 0
}

/** What an endpoint answers, of which the one is 4 s late, and under way when the node stands still. */
const late = (status: number): Answer => ({ status, delayMs: 4_000 })
const isLate = (answer: Answer): boolean => answer === 'hang' || (typeof answer === 'object' && 'delayMs' in answer)

const cases: AnswersInTurn[] = [
  { name: 'first attempt that was taken', answers: [late(200)] },
  { name: 'first attempt that failed', answers: [late(503), { status: 200 }] },
  { name: 'first attempt that was refused', answers: [late(404)] },
  { name: 'first attempt that hangs', answers: ['hang', { status: 200 }] },
  { name: 'retry that was taken', answers: [{ status: 503 }, late(200)] },
  { name: 'retry that failed', answers: [{ status: 503 }, late(503), { status: 200 }] },
  { name: 'retry that hangs', answers: [{ status: 503 }, 'hang', { status: 200 }] },
  { name: 'first attempts of a parcel that failed', answers: [late(503), { status: 200 }], isInParcel: true },
  { name: 'retries of a parcel that failed', answers: [{ status: 503 }, late(503), { status: 200 }], isInParcel: true },
]

/** As the history shows it; null: there was none. */
const statusOf = (answer: Answer): number | null =>
  typeof answer === 'object' && 'status' in answer ? (answer.status ?? null) : null

it('an attempt whose report came too late is made once, and stands in the history', async () => {
  const begun = await Promise.all(
    cases.map(async (one) => ({
      ...(await sendAnsweredInTurn(node, one, one.answers.findIndex(isLate) + 1)),
      statuses: one.answers.map(statusOf),
    })),
  )
  process.kill(node.pid, 'SIGSTOP')
  await until('Temporal gives up what is under way', isGivenUp, givenUpLimitMs)
  process.kill(node.pid, 'SIGCONT')

  const expected: unknown[] = []
  const found: unknown[] = []
  for (const { name, messageIds, requestsOf, statuses, read } of begun)
    for (const messageId of messageIds) {
      const { timeline, attempts } = await until(`the ${name} ends`, async () => {
        const delivery = await read(node, messageId)
        return delivery.endedAt !== null && delivery
      })
      expected.push({ messageId, statuses, attempts: statuses.length, requests: statuses.length })
      const told = timeline.map(({ status }) => status)
      found.push({ messageId, statuses: told, attempts, requests: requestsOf(messageId).length })
    }
  expect(found).toEqual(expected)
})
