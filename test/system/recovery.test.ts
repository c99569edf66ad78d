/** Deliveries that wait for an endpoint that is down, once it is back. */

import { expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const count = 60

const messageIdOf = ({ body }: ReceivedRequest): string =>
  (JSON.parse(body.toString()) as { messageId: string }).messageId

/** How many events have left the inbox, or never were in it. */
async function countStarted(node: TestApp): Promise<number> {
  const metrics = await (await fetch(`${node.url}/metrics`)).text()
  return Number(/^postrider_events_total\{fate="started",reason=""\} (\d+)/m.exec(metrics)?.[1])
}

/** Longer than a slow machine takes to find out that an endpoint is back, whose probes are 10 s apart at most, in milliseconds. */
const muchLaterMs = 35_000

// Of those that share workflows only the probes wait for long.
it.each([
  { parcels: 'auto', finder: 'a further event', waiters: 1, many: 1 },
  { parcels: 'auto', finder: 'one of them', waiters: 1, many: 1 },
  // A slow machine comes to some of them late.
  { parcels: 'off', finder: 'a further event', waiters: 20, many: 10 },
])(
  'go on at once, and not only after the pause that they were told, when $finder finds out (parcels $parcels)',
  async ({ parcels, finder, waiters, many }) => {
    const pauses = { POSTRIDER_RETRY_INITIAL: '30s', POSTRIDER_RETRY_MAX: '1h', POSTRIDER_RETRY_WINDOW: '4h' }
    const environment = { POSTRIDER_PARCELS: parcels, ...pauses }
    await using node = await startTestApp({ environment })
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const post = (messageId: string) =>
      node.post('/track', source.writeKey, { userId: 'u1', event: 'Tried', messageId })
    await Promise.all(Array.from({ length: count }, (_, index) => post(`waits-${index}`)))

    const late = await until(
      'some wait for longer',
      async () => {
        const query = new URLSearchParams({ sourceId: source.id, status: 'retrying', limit: '200' })
        const { items } = (await node.api<Page<Delivery>>('GET', `/deliveries?${String(query)}`)).body
        const waiting = items.filter(
          ({ attempts, reason, nextAttemptAt }) =>
            (attempts !== 1 || reason?.includes('is down') === true) &&
            Date.parse(nextAttemptAt ?? '') > Date.now() + muchLaterMs,
        )
        return waiting.length >= waiters && waiting
      },
      120_000,
    )
    receiver.answer({ status: 200 })
    const backAt = receiver.requests.length
    if (finder === 'a further event') await post('finds-out')
    const arrived = (): Map<string, Date> =>
      new Map(receiver.requests.slice(backAt).map((request) => [messageIdOf(request), request.arrivedAt]))
    await until(
      'those that waited have arrived',
      () => late.every(({ messageId }) => arrived().has(messageId)),
      120_000,
    )

    const early = late.filter(
      ({ messageId, nextAttemptAt }) => Number(arrived().get(messageId)) < Date.parse(nextAttemptAt ?? ''),
    )
    // Those whose first retry is still to come wait for it.
    expect(early.length).toBeGreaterThanOrEqual(many)
  },
  300_000,
)

it('are the probes, one after the other, and no further events go on trying', async () => {
  await using node = await startTestApp({
    environment: {
      POSTRIDER_PARCELS: 'off',
      POSTRIDER_RETRY_WINDOW: '4h',
      POSTRIDER_RETRY_INITIAL: '3s',
      POSTRIDER_RETRY_MAX: '1h',
    },
  })
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const ids = Array.from({ length: 200 }, (_, index) => `probes-${index}`)
  await Promise.all(
    ids.map((messageId) => node.post('/track', source.writeKey, { userId: 'u1', event: 'Tried', messageId })),
  )

  const query = new URLSearchParams({ sourceId: source.id, status: 'retrying', limit: '200' })
  await until(
    'enough of them wait for their next try',
    async () => {
      const { items } = (await node.api<Page<Delivery>>('GET', `/deliveries?${String(query)}`)).body
      const areWaiting = items.filter(
        ({ attempts, reason }) => Number(attempts) > 1 || (attempts === 1 && reason?.includes('is down') === true),
      )
      return areWaiting.length > 18
    },
    120_000,
  )
  const started = await countStarted(node)
  await receiver.received(receiver.requests.length + 8, 240_000)
  // One or two may have been on their way.
  expect(await countStarted(node)).toBeLessThanOrEqual(started + 2)

  const failed = receiver.requests.length
  receiver.answer({ status: 200 })
  const delivered = (): string[] => receiver.requests.slice(failed).map(messageIdOf)
  await until('all are delivered', () => new Set(delivered()).size === ids.length, 120_000)
  expect(delivered().toSorted()).toEqual(ids.toSorted())
}, 500_000)
