/** Symptom: where Temporal refused the starts of a node, its log got ten lines a second of the same refusal, and Temporal as many calls.
 *  Cause: what is tried beside the drainer's rounds had no pause after a failure, and shared with them the memory of what was logged, which
 *  each round that worked cleared.
 *  Consequence: the log of a night with an API key that may not write was gigabytes, and nothing else was found in it. */

import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { startGrpcProxy } from '../support/grpc-proxy.ts'
import { startReceiver } from '../support/receiver.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

it('a refusal of Temporal is logged once, and asked for anew once a second', { timeout: 60_000 }, async () => {
  const lines: string[] = []
  let isRefusing = true
  let refused = 0
  await using proxy = await startGrpcProxy(temporalAddress(), {
    denies: (path) => {
      if (!isRefusing || !path.endsWith('/StartWorkflowExecution')) return false
      refused += 1
      return true
    },
  })
  await using receiver = await startReceiver()
  await using node = await startTestApp({
    environment: { TEMPORAL_ADDRESS: proxy.address },
    logger: pino({ level: 'warn' }, { write: (line) => void lines.push(line) }),
  })
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const answer = await node.post('/track', source.writeKey, { userId: 'u1', event: 'Refused' })
  expect(answer.status).toBe(200)
  const ofInbox = () => lines.filter((line) => line.includes('inbox.not_drained'))
  await until('the inbox fails', () => ofInbox().length > 0)
  const [before, begun] = [refused, performance.now()]
  await sleep(5_000)
  const seconds = (performance.now() - begun) / 1_000
  expect(refused).toBeGreaterThan(before)
  // By the rounds of the drainer and beside them.
  expect(refused - before).toBeLessThanOrEqual(2 * (seconds + 1))
  expect(ofInbox()).toHaveLength(1)
  expect(ofInbox()[0]).toContain('Request unauthorized.')
  isRefusing = false
  await receiver.received(1)
})
