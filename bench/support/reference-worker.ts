/** The reference, in a process of its own: the least that carries the same bytes through Temporal. */

import { Client } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import type { DeliverEventInput } from '../../src/contracts/delivery.ts'
import { createNamesInTemporal } from '../../src/temporal/names-in-temporal.ts'
import { deliveryAttributes } from '../../src/temporal/search-attributes.ts'

interface Order {
  workflow: 'postOnce' | 'doNothing'
  eager: boolean
  count: number
  /** Starts under way at a time. */
  atATime: number
  url: string
}

Runtime.install({ logger: new DefaultLogger('ERROR') })
const connection = await NativeConnection.connect({ address: process.argv[2] ?? '' })
const client = new Client({ connection })
const names = createNamesInTemporal()
names.use({ key: Buffer.alloc(32), beginsAt: new Date(0), hasPlain: false })
const dispatcher = new Agent({ connections: 128 })
const taskQueue = 'bench-reference'
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('./reference-workflows.ts', import.meta.url)),
  activities: {
    async post(url: string, body: string): Promise<number> {
      const answer = await request(url, { method: 'POST', body, dispatcher })
      await answer.body.dump()
      return answer.statusCode
    },
  },
  maxConcurrentWorkflowTaskExecutions: 400,
  maxConcurrentActivityTaskExecutions: 200,
  maxCachedWorkflows: 500,
})
const running = worker.run()

process.on('message', (order: Order) => void carryOut(order))
process.once('disconnect', () => worker.shutdown())
process.send?.('ready')
await running
process.exit()

async function carryOut({ workflow, eager, count, atATime, url }: Order): Promise<void> {
  let next = 0
  const begun = performance.now()
  const handles: Promise<unknown>[] = []
  const work = async (): Promise<void> => {
    while (next < count) {
      const input = inputOf(`${workflow}-${begun}-${next++}`)
      const handle = await client.workflow.start(workflow, {
        taskQueue,
        workflowId: `reference/${input.messageId}`,
        args: [url, JSON.stringify(input.message)],
        requestEagerStart: eager,
        typedSearchAttributes: deliveryAttributes(input, names),
      })
      if (workflow === 'doNothing') handles.push(handle.result())
    }
  }
  await Promise.all(Array.from({ length: atATime }, work))
  await Promise.all(handles)
  process.send?.({ seconds: (performance.now() - begun) / 1_000 })
}

function inputOf(messageId: string): DeliverEventInput {
  return {
    sourceId: 'src_0123456789abcdef0123',
    messageId,
    message: {
      version: 1,
      type: 'track',
      messageId,
      timestamp: '2026-01-01T00:00:00.000Z',
      userId: 'u1',
      event: 'Bench',
      properties: { plan: 'pro', value: 19.5 },
      context: {},
    },
    targets: [
      { destinationId: 'dst_0123456789abcdef0123', endpointIds: ['ep_0123456789abcdef0123'], successPolicy: 'any' },
    ],
    retry: { windowMs: 1, initialMs: 1, maxMs: 1 },
  }
}
