/** The key ring of two nodes is changed one node after the other, as `docs/deployment.md` has it: events are taken and delivered all the while. */

import { pino } from 'pino'
import { expect, it } from 'vitest'
import { EncryptionKeysSchema } from '../../src/config.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { resealAll } from '../../src/db/sealed-columns.ts'
import { createSecretBox } from '../../src/secrets.ts'
import type { TestApp } from '../support/app.ts'
import { track, untilStatus } from '../support/deliveries.ts'
import { findPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { startSharedParts } from '../support/shared-parts.ts'

const ring = (...ids: number[]): string =>
  ids.map((id) => `k${id}:${Buffer.alloc(32, id).toString('base64')}`).join(',')

it.skipIf(findPostgres() === undefined)('is changed without downtime', { timeout: 300_000 }, async () => {
  await using parts = await startSharedParts()
  await using receiver = await startReceiver()
  await using late = await startReceiver()
  late.answer({ status: 503 })
  const start = (...ids: number[]): Promise<TestApp> =>
    parts.start({ environment: { POSTRIDER_ENCRYPTION_KEYS: ring(...ids), POSTRIDER_RETRY_WINDOW: '1h' } })
  const first = await start(1)
  const source = await first.createSource()
  await first.connect([source], [receiver.url], { sharedSecret: 'kept through it' })
  const slow = await first.createSource()
  await first.connect([slow], [late.url])
  const nodes: [TestApp, TestApp] = [first, await start(1)]
  try {
    const waiting = await track(nodes[0], slow, { userId: 'patient', event: 'Waits', messageId: 'waits' })

    let sent = 0
    /** What each of two nodes takes is delivered by either, and read by the other one. */
    const tryBoth = async (): Promise<void> => {
      for (const [one, other] of [nodes, [...nodes].reverse()] as [TestApp, TestApp][]) {
        const messageId = `m-${sent++}`
        const id = await track(one, source, { userId: `user-${sent % 3}`, event: 'Sent', messageId })
        expect(await untilStatus(other, id, 'delivered')).toMatchObject({ message: { messageId }, erased: false })
      }
    }
    const change = async (...ids: number[]): Promise<void> => {
      for (const index of [0, 1] as const) {
        await nodes[index][Symbol.asyncDispose]()
        nodes[index] = await start(...ids)
        await tryBoth()
      }
    }
    await tryBoth()
    await change(1, 2)
    await change(2, 1)
    const database = openPostgres(parts.databaseUrl, pino({ level: 'silent' }))
    const unreadable: unknown[] = []
    try {
      const box = createSecretBox(EncryptionKeysSchema.parse(ring(2, 1)))
      const hooks = { onProgress: () => {}, onUnreadable: (value: unknown) => unreadable.push(value) }
      expect(await resealAll(database, box, 'k2', hooks)).toBeGreaterThan(1)
    } finally {
      await database.close()
    }
    expect(unreadable).toEqual([])
    await tryBoth()
    late.answer({})
    await untilStatus(nodes[1], waiting, 'delivered')
    await change(2)

    expect(
      receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId).toSorted(),
    ).toEqual(Array.from({ length: sent }, (_, n) => `m-${n}`).toSorted())
    expect(receiver.requests.every(({ headers }) => headers['x-signature'] !== undefined)).toBe(true)
  } finally {
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))
  }
})
