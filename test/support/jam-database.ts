/** Brings the SQLite of a real Temporal server into the state that it does not leave by itself. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@temporalio/client'
import { connectPlainly, lookAtServer } from '../../src/temporal/server-health.ts'
import { until } from './wait.ts'

/** Workflows that are read, and readers side by side. */
const workflows = 20
const readers = 12
/** Reads are given up within this time, most of them early, so that some are in the middle of a query on a slow machine, too. */
const longestReadMs = 64
const limitMs = 180_000
const lookTimeoutMs = 10_000
/** One error may be that of a query that was just given up. */
const brokenLooks = 2

/** Gives up reads in the middle until the server answers with errors of its database alone. It takes some seconds.
 *  @throws Error when it does not within three minutes */
export async function jamDatabase(address: string): Promise<void> {
  const connection = connectPlainly(address)
  const looking = connectPlainly(address)
  const { workflow } = new Client({ connection })
  const reads = [
    (id: string) => workflow.getHandle(id).fetchHistory(),
    () => workflow.count(),
    () => connection.workflowService.listWorkflowExecutions({ namespace: 'default', query: '', pageSize: 10 }),
  ]
  const ids = Array.from({ length: workflows }, (_, index) => `read-${String(index)}`)
  for (const workflowId of ids) await workflow.start('any', { taskQueue: 'none', workflowId })

  let isOver = false
  const readOn = async (): Promise<void> => {
    for (let turn = 0; !isOver; turn++) {
      const read = reads[turn % reads.length]
      const given = AbortSignal.timeout(Math.ceil(longestReadMs ** Math.random()))
      await connection.withAbortSignal(given, async () => read?.(ids[turn % ids.length] ?? '')).catch(() => {})
    }
  }
  const reading = Array.from({ length: readers }, readOn)
  let broken = 0
  try {
    await until(
      'the database is stuck',
      async () => {
        await sleep(100)
        const { kind } = await lookAtServer(looking, 'default', lookTimeoutMs)
        broken = kind === 'broken' ? broken + 1 : 0
        return broken === brokenLooks
      },
      limitMs,
    )
  } finally {
    isOver = true
    await Promise.all(reading)
    await connection.close()
    await looking.close()
  }
}
