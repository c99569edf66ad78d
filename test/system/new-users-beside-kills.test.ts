/** What Temporal has of users who were never seen before can be read, and erased, whenever the node was killed: their keys are on the disk
 *  before anything is sealed with them. */

import { rm } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import type { DeletionRequestDetail } from '../../src/schemas/deletion-request.ts'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { apiOf, makeDataFolder, testEnvironment } from '../support/app.ts'
import { startProgram } from '../support/program.ts'
import { startReceiver } from '../support/receiver.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const limitMs = 150_000

/** Batches that follow one another share parcels with what waits of those before. */
const batches = 4
const batchSize = 60
const deleted = 10

it('events of new users are delivered after a kill, and erased on demand', { timeout: 4 * limitMs }, async () => {
  const dataDir = await makeDataFolder()
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const environment = { ...testEnvironment(await createNamespace(), dataDir), POSTRIDER_RETRY_WINDOW: '1h' }
  await using receiver = await startReceiver()
  const arrived = (): Set<string> =>
    new Set(receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId))
  const killed = startProgram(environment)
  const { createSource, connect, post } = apiOf(await killed.url())
  const source = await createSource()
  await connect([source], [receiver.url])
  // Temporal is known to take events.
  await post('/track', source.writeKey, { messageId: 'before', userId: 'before', event: 'Alone' })
  await receiver.received(1)
  receiver.answer('hang')
  const numbers = Array.from({ length: batches * batchSize }, (_, n) => n)
  for (let first = 0; first < numbers.length; first += batchSize) {
    const some = numbers.slice(first, first + batchSize)
    const batch = some.map((n) => ({ type: 'track', messageId: `m-${n}`, userId: `new-${n}`, event: 'E' }))
    expect((await post('/batch', source.writeKey, { batch })).status).toBe(200)
  }
  await until('some of them are on their way', () => receiver.requests.length > 10, limitMs)
  killed.signal('SIGKILL', 'group')
  expect(await killed.exited).toBe('SIGKILL')

  receiver.answer({})
  await using restarted = startProgram(environment)
  const { api } = apiOf(await restarted.url())
  await until('all of them arrive', () => numbers.every((n) => arrived().has(`m-${n}`)), limitMs)
  const detailOf = async (n: number): Promise<DeliveryDetail> => {
    const path = `/deliveries/${encodeURIComponent(eventWorkflowId(source.id, `m-${n}`))}`
    return (await api<DeliveryDetail>('GET', path)).body
  }
  for (const n of [0, batchSize, numbers.length - 1])
    await until('it stands delivered', async () => (await detailOf(n)).status === 'delivered', limitMs)
  expect(await detailOf(0)).toMatchObject({ erased: false, userId: 'new-0' })

  const userIds = numbers.slice(0, deleted).map((n) => `new-${n}`)
  const order = { userIds, sourceIds: [source.id] }
  const { body: request } = await api<DeletionRequestDetail>('POST', '/deletion-requests', order)
  const done = await until(
    'they are erased',
    async () => {
      const { body } = await api<DeletionRequestDetail>('GET', `/deletion-requests/${request.id}`)
      return body.erasedAt !== null && body
    },
    limitMs,
  )
  // One for each of them, whoever made it, and that of the notifications.
  expect(done.keys).toBe(deleted + 1)
  expect(await detailOf(0)).toMatchObject({ erased: true, userId: null, message: null })
  expect(await detailOf(deleted)).toMatchObject({ erased: false, userId: `new-${deleted}` })
})
