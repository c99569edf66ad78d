/** Symptom: a bulk steering said `completed` and had left out the older ones of the deliveries that it matched.
 *  Cause: it began at twice `POSTRIDER_RETENTION` before its end, whatever the retention of the namespace is, and however
 *  long a delivery that is held or retried has been running.
 *  Consequence: it begins before the oldest that matches. */

import { expect, it } from 'vitest'
import type { BulkSteering, Delivery } from '../../src/schemas/delivery.ts'
import { beforeOldest, oldestFirst } from '../../src/temporal/oldest-first.ts'
import { startTestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

it('reaches every delivery of the list, however old', async () => {
  await using node = await startTestApp({
    environment: {
      POSTRIDER_RETENTION: '1ms',
      POSTRIDER_RETRY_INITIAL: '10m',
      POSTRIDER_RETRY_MAX: '10m',
      POSTRIDER_RETRY_WINDOW: '4h',
    },
  })
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const waiting = `/deliveries?sourceId=${source.id}&status=retrying`
  const listed = async (): Promise<Delivery[]> => (await node.api<{ items: Delivery[] }>('GET', waiting)).body.items
  for (let index = 0; index < 3; index++)
    await node.post('/track', source.writeKey, { userId: `u${index}`, event: 'E' })
  const deliveries = await until('three wait', async () => {
    const items = await listed()
    return items.length === 3 && items
  })

  const started = await node.api<BulkSteering>('POST', '/deliveries/cancel', { sourceId: source.id })
  expect(started).toMatchObject({ status: 202, body: { matched: 3 } })
  const done = await until('it is done', async () => {
    const { body } = await node.api<BulkSteering>('GET', `/deliveries/bulk/${started.body.id}`)
    return body.status !== 'running' && body
  })
  expect(done).toMatchObject({ status: 'completed', done: 3, failed: 0 })
  await until('none waits', async () => (await listed()).length === 0)

  // As if it were ordered long after: the walk begins before the oldest, and finds each once, by age.
  const query = `PostriderSource = '${source.id}'`
  for (const years of [0, 1, 40]) {
    const end = new Date(Date.now() + years * 365 * 24 * 3_600_000)
    const from = await beforeOldest(node.app.temporal, query, end)
    const found: string[] = []
    for await (const group of oldestFirst(node.app.temporal, query, from, end))
      found.push(...group.map(({ workflowId }) => workflowId))
    expect(found.toSorted(), `${years} years later`).toEqual(
      deliveries.map(({ id }) => node.app.temporal.names.workflowId(id)).toSorted(),
    )
  }
})
