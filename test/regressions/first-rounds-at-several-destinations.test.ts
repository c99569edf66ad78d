/** Symptom: a delivery to two destinations failed each of its workflow tasks once its worker had been restarted, and went on no more.
 *  Cause: the first attempts at its destinations are local activities side by side. They end one after the other, and in a replay all at
 *  once: where one led to something else than the other, it did these things in another order then.
 *  Consequence: the destinations wait for each other before they go on from their first attempts. */

import { expect, it } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { startReceiver, type Answer, type ReceivedRequest } from '../support/receiver.ts'
import { failedReplays } from '../support/replay.ts'
import { until } from '../support/wait.ts'

const firsts = ['delivered', 'refused', 'failing'] as const
/** Long enough for the other attempt to end by itself, in milliseconds. */
const lateMs = 300

const pairs = firsts.flatMap((first) =>
  firsts.flatMap((second) => [
    { name: `${first}, later ${second}`, paths: [first, `late-${second}`] },
    { name: `later ${first}, ${second}`, paths: [`late-${first}`, second] },
  ]),
)

/** Answers as the path says; what fails succeeds at its second attempt. */
function answerTo({ path }: ReceivedRequest, isFirst: boolean): Answer {
  const status = path.endsWith('refused') ? 404 : path.endsWith('failing') && isFirst ? 503 : 200
  return { status, delayMs: path.includes('late-') ? lateMs : 0 }
}

it('replay as they went, whichever ends first', { timeout: 180_000 }, async () => {
  await using node = await startTestApp()
  await using receiver = await startReceiver()
  receiver.answer((request, index) =>
    answerTo(request, !receiver.requests.slice(0, index).some(({ path }) => path === request.path)),
  )
  const { client } = node.app.temporal
  const sources = new Map<string, string>()
  for (const { name, paths } of pairs) {
    const source = await node.createSource(name)
    for (const path of paths) await node.connect([source], [`${receiver.url}/${source.id}/${path}`])
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Replayed' })
    sources.set(name, source.id)
  }

  const closed = await until('all have ended', async () => {
    const found = new Map<string, string>()
    const query = "WorkflowType = 'deliverEvent' AND ExecutionStatus != 'Running'"
    for await (const { workflowId, searchAttributes } of client.workflow.list({ query }))
      found.set(String(searchAttributes['PostriderSource']), workflowId)
    return found.size === pairs.length && found
  })
  const histories = await Promise.all(
    [...sources].map(async ([name, sourceId]) => ({
      workflowId: name,
      history: await client.workflow.getHandle(closed.get(sourceId) ?? '').fetchHistory(),
    })),
  )
  expect(await failedReplays(histories)).toEqual([])
})
