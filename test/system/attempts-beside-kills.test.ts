/** The list of a delivery's attempts after kills, compared with what receivers got. */

import { rm } from 'node:fs/promises'
import { describe, it, type TestContext } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { makeDataFolder } from '../support/app.ts'
import { startEmbeddedNode, type EmbeddedNode } from '../support/embedded-node.ts'
import { startReceiver, type Answer, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const limit = 300_000

interface Scene {
  node(): EmbeddedNode
  restart(): Promise<void>
  /** A receiver with these answers, and the delivery of an event to it. */
  send(...answers: Answer[]): Promise<{ receiver: Receiver; id: string }>
  untilDelivered(id: string): Promise<DeliveryDetail>
}

/** Gone when the test is over. */
async function setScene({ onTestFinished }: TestContext): Promise<Scene> {
  const dataDir = await makeDataFolder()
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const start = async (): Promise<EmbeddedNode> => {
    const started = await startEmbeddedNode(dataDir)
    onTestFinished(() => started.stop())
    return started
  }
  let node = await start()
  return {
    node: () => node,
    async restart() {
      await node.kill()
      node = await start()
    },
    async send(...answers) {
      const receiver = await startReceiver()
      onTestFinished(() => receiver.close())
      receiver.answerInTurn(...answers)
      const source = await node.createSource()
      await node.connect([source], [receiver.url])
      const { body } = await node.post('/track', source.writeKey, { userId: 'u1', event: 'E' })
      return { receiver, id: `event/${source.id}/${(body.accepted as string[])[0]}` }
    },
    untilDelivered: (id) =>
      until(
        `${id} is delivered`,
        async () => {
          const { status, body } = await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(id)}`)
          return status === 200 && body.status === 'delivered' && body
        },
        120_000,
      ),
  }
}

const toldStatuses = ({ timeline }: DeliveryDetail): (number | null)[] => timeline.map(({ status }) => status)

describe.concurrent('the list of attempts', () => {
  it('lacks only what a killed node had under way', { timeout: limit }, async (context) => {
    const { expect } = context
    const scene = await setScene(context)
    const first = await scene.send('hang', { status: 503 }, { status: 200 })
    const retry = await scene.send({ status: 503 }, { status: 500 }, 'hang', { status: 503 }, { status: 200 })
    await first.receiver.received(1)
    await retry.receiver.received(3)
    await scene.restart()
    const [ofFirst, ofRetry] = [await scene.untilDelivered(first.id), await scene.untilDelivered(retry.id)]
    expect(toldStatuses(ofFirst)).toEqual([503, 200])
    expect(first.receiver.requests).toHaveLength(3)
    expect(toldStatuses(ofRetry)).toEqual([503, 500, 503, 200])
    expect(retry.receiver.requests).toHaveLength(5)
    expect([ofFirst.attempts, ofRetry.attempts]).toEqual([2, 4])
    for (const { request, response } of [...ofFirst.timeline, ...ofRetry.timeline]) {
      expect(request?.headers).toMatchObject({ 'User-Agent': 'Postrider/1.0' })
      expect(response?.headers.map(({ name }) => name)).toContain('date')
    }
  })

  it(
    'has the reason of the latest that is known, while one after a kill is under way',
    { timeout: limit },
    async (context) => {
      const scene = await setScene(context)
      const { receiver, id } = await scene.send({ status: 503 }, { status: 500 }, 'hang', 'hang', { status: 200 })
      await receiver.received(3)
      await scene.restart()
      await receiver.received(4)
      const { body } = await scene.node().api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(id)}`)
      const reason = 'The endpoint answered 500 Internal Server Error.'
      context.expect(body).toMatchObject({ status: 'retrying', attempts: 2, reason })
      context.expect(body.destinations[0]?.endpoints[0]?.reason).toBe(reason)
      await scene.untilDelivered(id)
    },
  )

  it('has each that failed while Temporal was killed', { timeout: limit }, async (context) => {
    const { expect } = context
    const scene = await setScene(context)
    const slow: Answer = { status: 503, delayMs: 2_000 }
    const first = await scene.send(slow, { status: 200 })
    const retry = await scene.send({ status: 500 }, slow, { status: 200 })
    await first.receiver.received(1)
    await retry.receiver.received(2)
    process.kill(await scene.node().temporalPid(), 'SIGKILL')
    expect(toldStatuses(await scene.untilDelivered(first.id))).toEqual([503, 200])
    expect(first.receiver.requests).toHaveLength(2)
    expect(toldStatuses(await scene.untilDelivered(retry.id))).toEqual([500, 503, 200])
    expect(retry.receiver.requests).toHaveLength(3)
  })
})
