/** Symptom: a delivery whose destinations were changed within milliseconds of each other could fail each of its workflow tasks once its
 *  worker had been restarted, and went on no more.
 *  Cause: each destination is read by a local activity, and these ran side by side. They end one after the other, and in a replay all at once:
 *  where one read led to something else than the other, it did these things in another order then.
 *  Consequence: a workflow reads one thing at a time. */

import { expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { failedReplays } from '../support/replay.ts'
import { until } from '../support/wait.ts'

const sources = 10
const changes = [{ paused: false }, { enabled: false }]

/** Posts events to two paused destinations of each source, and changes both destinations at once. */
async function holdThenChange(node: TestApp, url: string, eventsOfEach: number): Promise<void> {
  const connected: string[][] = []
  for (let n = 0; n < sources; n++) {
    const source = await node.createSource(`Shop ${n}`)
    const destinations = [await node.connect([source], [`${url}/1`]), await node.connect([source], [`${url}/2`])]
    const ids = destinations.map(({ id }) => id)
    for (const id of ids) await node.api('PATCH', `/destinations/${id}`, { paused: true })
    const batch = Array.from({ length: eventsOfEach }, () => ({ type: 'track', userId: 'u1', event: 'Replayed' }))
    await node.post('/batch', source.writeKey, { batch })
    // Which of the two goes on differs from source to source.
    connected.push(n % 2 === 0 ? ids : ids.reverse())
  }
  await until('all are held', async () => {
    const { body } = await node.api<{ count: number }>('GET', '/deliveries/count?status=held')
    return body.count === sources * eventsOfEach
  })
  for (const ids of connected)
    await Promise.all(ids.map((id, index) => node.api('PATCH', `/destinations/${id}`, changes[index])))
}

it.each([
  ['deliverEvent', 'off', 5],
  // So many at once do not have a workflow each.
  ['deliverParcel', 'auto', 100],
])(
  'runs of %s replay as they went, whatever became of each destination',
  { timeout: 180_000 },
  async (type, parcels, eventsOfEach) => {
    await using node = await startTestApp({ environment: { POSTRIDER_PARCELS: parcels } })
    await using receiver = await startReceiver()
    const { client } = node.app.temporal
    await holdThenChange(node, receiver.url, eventsOfEach)
    const ofType = `WorkflowType = '${type}'`
    await until('all have ended', async () => {
      const [all, running] = [ofType, `${ofType} AND ExecutionStatus = 'Running'`].map((query) =>
        client.workflow.count(query),
      )
      return ((await all)?.count ?? 0) > 0 && (await running)?.count === 0
    })
    const histories = []
    for await (const { workflowId } of client.workflow.list({ query: ofType }))
      histories.push({ workflowId, history: await client.workflow.getHandle(workflowId).fetchHistory() })
    expect(await failedReplays(histories)).toEqual([])
  },
)
