import { rm } from 'node:fs/promises'
import { describe, expect, it, type TestContext } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { makeDataFolder } from '../support/app.ts'
import { startNodeProcess, type NodeProcess } from '../support/node-process.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { messageIdsOf } from '../support/repeats.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

/** A node that dies and comes back. */
interface Scene {
  receiver: Receiver
  node(): NodeProcess
  /** Kills the node hard and starts it again. */
  restart(): Promise<void>
  untilStatus(id: string, status: string): Promise<DeliveryDetail>
  track(): Promise<{ id: string; destinationId: string }>
}

// A pause that no test waits for: whatever arrives was woken.
const longPauses = { POSTRIDER_RETRY_INITIAL: '10m', POSTRIDER_RETRY_MAX: '10m', POSTRIDER_RETRY_WINDOW: '4h' }

const path = (id: string, action = ''): string => `/deliveries/${encodeURIComponent(id)}${action}`

/** Gone when the test is over. */
async function setScene(
  { onTestFinished }: TestContext,
  environment: Record<string, string> = longPauses,
): Promise<Scene> {
  const namespace = await createNamespace()
  const dataDir = await makeDataFolder()
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  const start = async (): Promise<NodeProcess> => {
    const started = await startNodeProcess({ namespace, dataDir, environment })
    onTestFinished(() => started.stop())
    return started
  }
  let node = await start()
  return {
    receiver,
    node: () => node,
    async restart() {
      await node.kill()
      node = await start()
    },
    untilStatus: (id, status) =>
      until(
        `${id} is ${status}`,
        async () => {
          const { status: code, body } = await node.api<DeliveryDetail>('GET', path(id))
          return code === 200 && body.status === status && body
        },
        60_000,
      ),
    async track() {
      const source = await node.createSource()
      const destination = await node.connect([source], [receiver.url])
      const { body } = await node.post('/track', source.writeKey, { userId: 'u1', event: 'Order Completed' })
      return { id: `event/${source.id}/${(body.accepted as string[])[0]}`, destinationId: destination.id }
    },
  }
}

// Side by side: most of the time they wait for Temporal to notice that a worker is gone.
describe.concurrent('steering', { timeout: 180_000 }, () => {
  describe('by a node that is killed as soon as it has answered', () => {
    it('wakes a delivery', async (context) => {
      const scene = await setScene(context)
      scene.receiver.answerInTurn({ status: 503 }, { status: 200 })
      const { id } = await scene.track()
      await scene.untilStatus(id, 'retrying')
      expect(await scene.node().api('POST', path(id, '/retry'))).toMatchObject({ status: 200 })
      await scene.restart()
      // Whether the killed node made the attempt or only took it: Temporal repeats what it does not know of.
      await scene.receiver.received(2, 120_000)
    })

    it('repeats an attempt that was lost with it, without the pause that follows a failure', async (context) => {
      const scene = await setScene(context)
      scene.receiver.answerInTurn({ status: 503 }, 'hang', { status: 200 })
      const { id } = await scene.track()
      await scene.untilStatus(id, 'retrying')
      expect(await scene.node().api('POST', path(id, '/retry'))).toMatchObject({ status: 200 })
      await scene.receiver.received(2)
      await scene.restart()
      await scene.receiver.received(3, 120_000)
      await scene.untilStatus(id, 'delivered')
    })

    it('cancels one, and delivers it again when told', async (context) => {
      const scene = await setScene(context)
      scene.receiver.answerInTurn({ status: 503 }, { status: 200 })
      const { id } = await scene.track()
      await scene.untilStatus(id, 'retrying')
      expect(await scene.node().api('POST', path(id, '/cancel'))).toMatchObject({ status: 200 })
      await scene.restart()
      await scene.untilStatus(id, 'cancelled')
      const { status, body } = await scene.node().api<{ id: string }>('POST', path(id, '/redeliver'))
      expect(status).toBe(200)
      await scene.restart()
      await scene.untilStatus(body.id, 'delivered')
    })

    it('pauses a destination, and resumes it', async (context) => {
      const scene = await setScene(context)
      const { id: before, destinationId } = await scene.track()
      await scene.untilStatus(before, 'delivered')
      const sourceId = before.split('/')[1] ?? ''
      const { body: source } = await scene.node().api<{ writeKey: string }>('GET', `/sources/${sourceId}`)
      await scene.node().api('PATCH', `/destinations/${destinationId}`, { paused: true })
      await scene.restart()
      const { body } = await scene.node().post('/track', source.writeKey, { userId: 'u1', event: 'Held' })
      const id = `event/${sourceId}/${(body.accepted as string[])[0]}`
      await scene.untilStatus(id, 'held')
      await scene.node().api('PATCH', `/destinations/${destinationId}`, { paused: false })
      await scene.restart()
      await scene.untilStatus(id, 'delivered')
      // The killed node may have made the attempt: then Temporal, which does not know of it, has it repeated.
      expect([...new Set(messageIdsOf(scene.receiver))]).toEqual([before, id].map((one) => one.split('/')[2]))
    })
  })

  it('reaches a request that runs when it cancels', async (context) => {
    const scene = await setScene(context, {})
    const { receiver } = scene
    const node = scene.node()
    const cancelRunning = async (): Promise<string> => {
      const before = receiver.requests.length
      receiver.answerInTurn({ status: 503 }, 'hang')
      const { id } = await scene.track()
      await receiver.received(before + 2)
      expect((await node.api('POST', path(id, '/cancel'))).status).toBe(200)
      await scene.untilStatus(id, 'cancelled')
      await until('the request is dropped', () => receiver.requests[before + 1]?.isAbandoned)
      return id
    }
    const ownLimits = async (): Promise<number> =>
      (await node.output()).split('\n').filter((line) => line.includes('"code":"timeout"')).length
    // A cancellation takes seconds, so that on a slow machine the request may end by its own time limit of 5 s before: then
    // another one is cancelled.
    let id = await cancelRunning()
    let before = 0
    for (let round = 1; round < 5 && (await ownLimits()) > before; round++) {
      before = await ownLimits()
      id = await cancelRunning()
    }
    expect(await ownLimits()).toBe(before)
    const { body: source } = await node.api<{ writeKey: string }>('GET', `/sources/${id.split('/')[1]}`)
    const { body: other } = await node.post('/track', source.writeKey, { userId: 'u2', event: 'Hangs too' })
    const [otherId] = other.accepted as string[]
    await until('the next event', () => messageIdsOf(receiver).includes(otherId ?? '?'))
    expect(messageIdsOf(receiver).filter((one) => one === id.split('/')[2])).toHaveLength(2)
  })
})
