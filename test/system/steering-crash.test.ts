import { rm } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { makeDataFolder } from '../support/app.ts'
import { startNodeProcess, type NodeProcess } from '../support/node-process.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

/** A command that was answered stands, though the node that took it dies at once. */
describe('a node killed right after a command', () => {
  let namespace: string
  let dataDir: string
  let node: NodeProcess
  let receiver: Receiver

  // A pause that no test waits for: whatever arrives was woken.
  const environment = { POSTRIDER_RETRY_INITIAL: '10m', POSTRIDER_RETRY_MAX: '10m', POSTRIDER_RETRY_WINDOW: '4h' }
  const start = (): Promise<NodeProcess> => startNodeProcess({ namespace, dataDir, environment })
  const restart = async (): Promise<void> => {
    await node.kill()
    node = await start()
  }
  const path = (id: string, action = ''): string => `/deliveries/${encodeURIComponent(id)}${action}`
  const untilStatus = (id: string, status: string): Promise<DeliveryDetail> =>
    until(
      `${id} is ${status}`,
      async () => {
        const { status: code, body } = await node.api<DeliveryDetail>('GET', path(id))
        return code === 200 && body.status === status && body
      },
      60_000,
    )
  const track = async (): Promise<{ id: string; destinationId: string }> => {
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const { body } = await node.post('/track', source.writeKey, { userId: 'u1', event: 'Order Completed' })
    return { id: `event/${source.id}/${(body.accepted as string[])[0]}`, destinationId: destination.id }
  }

  beforeEach(async () => {
    namespace = await createNamespace()
    dataDir = await makeDataFolder()
    receiver = await startReceiver()
    node = await start()
  }, 120_000)
  afterEach(async () => {
    await node.stop()
    await receiver.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('has woken the delivery', async () => {
    receiver.answerInTurn({ status: 503 }, { status: 200 })
    const { id } = await track()
    await untilStatus(id, 'retrying')
    expect(await node.api('POST', path(id, '/retry'))).toMatchObject({ status: 200 })
    await restart()
    await untilStatus(id, 'delivered')
  }, 120_000)

  it('has cancelled it, and delivers it again when told', async () => {
    receiver.answerInTurn({ status: 503 }, { status: 200 })
    const { id } = await track()
    await untilStatus(id, 'retrying')
    expect(await node.api('POST', path(id, '/cancel'))).toMatchObject({ status: 200 })
    await restart()
    await untilStatus(id, 'cancelled')
    const { status, body } = await node.api<{ id: string }>('POST', path(id, '/redeliver'))
    expect(status).toBe(200)
    await restart()
    await untilStatus(body.id, 'delivered')
  }, 120_000)

  it('has paused the destination, and resumed it', async () => {
    const { id: before, destinationId } = await track()
    await untilStatus(before, 'delivered')
    const sourceId = before.split('/')[1] ?? ''
    const { body: source } = await node.api<{ writeKey: string }>('GET', `/sources/${sourceId}`)
    await node.api('PATCH', `/destinations/${destinationId}`, { paused: true })
    await restart()
    const { body } = await node.post('/track', source.writeKey, { userId: 'u1', event: 'Held' })
    const id = `event/${sourceId}/${(body.accepted as string[])[0]}`
    await untilStatus(id, 'held')
    await node.api('PATCH', `/destinations/${destinationId}`, { paused: false })
    await restart()
    await untilStatus(id, 'delivered')
    expect(receiver.requests).toHaveLength(2)
  }, 120_000)
})

it('a cancellation reaches a request that runs', async () => {
  const namespace = await createNamespace()
  const dataDir = await makeDataFolder()
  await using receiver = await startReceiver()
  const node = await startNodeProcess({ namespace, dataDir })
  try {
    receiver.answerInTurn({ status: 503 }, 'hang')
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const { body } = await node.post('/track', source.writeKey, { userId: 'u1', event: 'Hangs' })
    const id = `event/${source.id}/${(body.accepted as string[])[0]}`
    await receiver.received(2)
    const { status } = await node.api('POST', `/deliveries/${encodeURIComponent(id)}/cancel`)
    expect(status).toBe(200)
    await until('cancelled', async () => {
      const { body: detail } = await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(id)}`)
      return detail.status === 'cancelled'
    })
    await until('the request is dropped', () => receiver.requests[1]?.isAbandoned)
    // It was stopped, and did not end by its own time limit.
    expect(await node.output()).not.toContain('delivery.timed_out')
    const { body: other } = await node.post('/track', source.writeKey, { userId: 'u2', event: 'Hangs too' })
    const [otherId] = other.accepted as string[]
    await until('the next event', () => receiver.requests.some((request) => request.body.includes(otherId ?? '?')))
    expect(receiver.requests.filter((request) => !request.body.includes(otherId ?? '?'))).toHaveLength(2)
  } finally {
    await node.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}, 120_000)
