import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, inject, it } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { addToInbox, inboxDepth, leaseFromInbox, listQueued, removeFromInbox, type Lane } from '../../src/db/inbox.ts'
import { openPglite } from '../../src/db/pglite.ts'

const event = (lane: Lane, messageId: string) => ({
  lane,
  receivedAt: new Date(),
  input: {
    sourceId: 'src',
    messageId,
    message: { version: 1, type: 'track' as const, messageId, timestamp: '', context: {} },
    targets: [],
    retry: { windowMs: 1, initialMs: 1, maxMs: 1 },
  },
})

it('leases, counts and lists events of two lanes in one inbox', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-db-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  const database = await openPglite(folder, pino({ level: 'error' }))
  const lease = (lane: Lane, limit: number) => leaseFromInbox(database, lane, limit, 60_000)
  try {
    expect(await inboxDepth(database)).toBe(0)
    expect(await addToInbox(database, [event('deferred', 'd1'), event('prompt', 'p1'), event('deferred', 'd2')])).toBe(
      3,
    )
    // The same event is there once, whatever its lane.
    expect(await addToInbox(database, [event('prompt', 'd1'), event('prompt', 'p2')])).toBe(1)
    expect(await inboxDepth(database)).toBeGreaterThanOrEqual(4)
    expect((await queued(database)).sort()).toEqual(['d1', 'd2', 'p1', 'p2'])

    const prompt = await lease('prompt', 10)
    expect(prompt.map(({ input }) => input.messageId)).toEqual(['p1', 'p2'])
    expect(await lease('prompt', 10)).toEqual([])
    const deferred = await lease('deferred', 1)
    expect(deferred.map(({ input }) => input.messageId)).toEqual(['d1'])
    expect((await lease('deferred', 10)).map(({ input }) => input.messageId)).toEqual(['d2'])

    await removeFromInbox(
      database,
      [...prompt, ...deferred].map(({ seq }) => seq),
    )
    expect(await queued(database)).toEqual(['d2'])
    expect(await inboxDepth(database)).toBe(1)
  } finally {
    await database.close()
    await rm(folder, { recursive: true })
  }
})

const queued = async (database: Database): Promise<string[]> =>
  (await listQueued(database, {}, 10)).map(({ input }) => input.messageId)
