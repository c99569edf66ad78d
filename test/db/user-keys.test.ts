/** Keys of users: what a deletion request destroys of them, and what goes as nothing can be sealed with it any more. */

import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { EncryptionKeysSchema } from '../../src/config.ts'
import type { Database } from '../../src/db/database.ts'
import { createDeletionRequest, getDeletionRequest, markErased } from '../../src/db/deletion-requests.ts'
import { addToInbox, type NewInboxEvent } from '../../src/db/inbox.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { destroyKeysOf, ensureUserKeys, readUserKeys, retireUserKeys, useNotedHours } from '../../src/db/user-keys.ts'
import { removeExpired } from '../../src/deletions/expire-user-keys.ts'
import { createUserKeys } from '../../src/deletions/user-keys.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { encryptionKeys } from '../support/sealed-payloads.ts'

const logger = pino({ level: 'error' })
const hourMs = 3_600_000
const dayMs = 24 * hourMs

describe.each(['PGlite', 'PostgreSQL'])('keys of users in %s', (kind) => {
  const isHere = kind === 'PGlite' || findPostgres() !== undefined
  let folder: string
  let postgres: PostgresServer | undefined
  let database: Database

  beforeAll(async () => {
    if (!isHere) return
    folder = await mkdtemp(join(tmpdir(), 'postrider-keys-'))
    await cp(inject('databaseTemplate'), folder, { recursive: true })
    postgres = kind === 'PGlite' ? undefined : await startPostgres()
    database = postgres ? openPostgres(await postgres.createDatabase(), logger) : await openPglite(folder, logger)
    await migrate(database)
  })
  afterAll(async () => {
    if (!isHere) return
    await database.close()
    await postgres?.stop()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(async () => {
    if (isHere) await database.query('truncate user_keys, inbox')
  })

  const keyOf = (id: string, sourceId: string, userHash: string) => ({ id, sourceId, userHash, encrypted: 'x' })
  const present = async (): Promise<string[]> =>
    (await database.query<{ id: string }>('select id from user_keys order by id')).map(({ id }) => id)
  const lastUsed = (id: string, agoMs: number): Promise<unknown> =>
    database.query('update user_keys set used_at = $2 where id = $1', [id, new Date(Date.now() - agoMs)])

  it.skipIf(!isHere)('counts what a request destroyed, also where the node ended before it could say so', async () => {
    const request = { id: 'del_1', userIds: ['u1'], scope: undefined, sourceIds: ['s1', 's2'], suppress: false }
    await createDeletionRequest(database, { ...request, createdAt: new Date() })
    const keys = ['s1', 's2'].map((sourceId) => keyOf(`key_${sourceId}`, sourceId, 'h1'))
    const other = keyOf('key_other', 's1', 'h2')
    await ensureUserKeys(database, [...keys, other])
    await retireUserKeys(database, request.id, null, ['h1'])
    // The second one is the repeat of an activity of which nothing was heard.
    for (let time = 0; time < 2; time++) await destroyKeysOf(database, request.id)
    await markErased(database, request.id)
    expect(await getDeletionRequest(database, request.id)).toMatchObject({
      keys: 2,
      erasedAt: expect.any(String) as string,
    })
    const ids = [...keys, other].map(({ id }) => id)
    expect(await readUserKeys(database, ids)).toMatchObject([{ id: 'key_other' }])
  })

  it.skipIf(!isHere)(
    'open nothing any more on a node that has not heard for a while that they were destroyed',
    async () => {
      const secrets = createSecretBox(EncryptionKeysSchema.parse(encryptionKeys))
      let forgets = '0'
      let isStale = false
      const look = async (): Promise<void> => {
        isStale = false
        forgets = '1'
      }
      const suppression = {
        forgets: () => forgets,
        isCurrent: () => true,
        upToDate: () => (isStale ? look() : undefined),
      }
      const node = createUserKeys({ database, secrets, logger, hashUser: (userId) => userId, suppression })
      const [{ id = '' } = {}] = (await node.ofUsers([{ sourceId: 's1', userId: 'h5' }])) ?? []
      expect(await node.byIds([id])).toMatchObject([{ id }])
      await database.query('delete from user_keys')
      // It stood still, say, while another node carried out a deletion request.
      isStale = true
      expect(await node.byIds([id])).toBeUndefined()
    },
  )

  /** A node, by what it has in memory of keys. */
  const nodeOf = (forgets = () => '0') =>
    createUserKeys({
      ...{ database, logger, secrets: createSecretBox(EncryptionKeysSchema.parse(encryptionKeys)) },
      hashUser: (userId) => userId,
      suppression: { forgets, isCurrent: () => true, upToDate: () => undefined },
    })

  const eventsOf = (users: readonly { sourceId: string; userId: string }[]): NewInboxEvent[] =>
    users.map(({ sourceId, userId }) => {
      const messageId = randomUUID()
      const message = { version: 1 as const, type: 'track' as const, userId, timestamp: '', context: {} }
      const retry = { windowMs: 1_000, initialMs: 1_000, maxMs: 1_000 }
      const targets = [{ destinationId: 'dst', endpointIds: ['ep'], successPolicy: 'any' as const }]
      return { receivedAt: new Date(), input: { sourceId, messageId, message, targets, retry } }
    })

  it.skipIf(!isHere)('are there with the events they are written with, and in no memory without them', async () => {
    const node = nodeOf()
    const user = { sourceId: 's1', userId: 'h6' }
    const lost = new Error('the node lost its connection')
    const write = database.transaction(async (tx) => {
      await addToInbox(tx, eventsOf([user]), { ...node.draft([user]), note: () => undefined })
      throw lost
    })
    await expect(write).rejects.toBe(lost)
    expect(await present()).toEqual([])

    expect(await addToInbox(database, eventsOf([user, user]), node.draft([user, user]))).toBe(2)
    const [id = ''] = await present()
    expect(node.draft([user]).keys).toEqual([])
    // Another one would be made of those that are not there.
    await database.query('delete from user_keys')
    expect(await node.ofUsers([user, user])).toMatchObject([{ id }, { id }])
    expect(await present()).toEqual([])
  })

  it.skipIf(!isHere)('that another node made are known once events were written', async () => {
    const [node, other] = [nodeOf(), nodeOf()]
    const users = ['h8', 'h9'].map((userId) => ({ sourceId: 's1', userId }))
    const [made] = (await other.ofUsers(users.slice(0, 1))) ?? []
    await addToInbox(database, eventsOf(users), node.draft(users))
    const all = await present()
    expect(all).toHaveLength(2)
    await database.query('delete from user_keys')
    const [known, own] = (await node.ofUsers(users)) ?? []
    expect(known).toEqual(made)
    expect(all).toContain(own?.id)
  })

  it.skipIf(!isHere)(
    'are noted as used where they were not for long, also if events are written with them',
    async () => {
      const node = nodeOf()
      const user = { sourceId: 's1', userId: 'h10' }
      const [key] = (await nodeOf().ofUsers([user])) ?? []
      await lastUsed(key?.id ?? '', (useNotedHours + 1) * hourMs)
      await addToInbox(database, eventsOf([user]), node.draft([user]))
      expect(await node.ofUsers([user])).toEqual([key])
      const [row] = await database.query<{ recent: boolean }>(
        `select used_at > now() - interval '1 hour' as recent from user_keys`,
      )
      expect(row).toEqual({ recent: true })
    },
  )

  it.skipIf(!isHere)('stay in no memory when users were forgotten while they were written', async () => {
    let forgets = 0
    const node = nodeOf(() => String(forgets))
    const user = { sourceId: 's1', userId: 'h7' }
    const draft = node.draft([user])
    forgets++
    await addToInbox(database, eventsOf([user]), draft)
    await database.query('delete from user_keys')
    const [key] = (await node.ofUsers([user])) ?? []
    expect(await present()).toEqual([key?.id])
  })

  it.skipIf(!isHere)('are the same for two nodes that make them at once', async () => {
    const nodes = [nodeOf(), nodeOf()]
    const users = Array.from({ length: 60 }, (_, n) => ({ sourceId: `s${n % 2}`, userId: `both-${n}` }))
    await Promise.all(
      nodes.map(async (node, number) => {
        // Each begins with other users.
        const asked = number === 0 ? users : [...users].reverse()
        for (let first = 0; first < asked.length; first += 20) {
          const some = asked.slice(first, first + 20)
          await addToInbox(database, eventsOf(some), node.draft(some))
        }
      }),
    )
    expect(await present()).toHaveLength(users.length)
    const [first, second] = await Promise.all(nodes.map((node) => node.ofUsers(users)))
    expect(first).toHaveLength(users.length)
    expect(second).toEqual(first)
    // What one has sealed, the other one opens.
    expect(await nodeOf().byIds(first?.map(({ id }) => id) ?? [])).toEqual(first)
  })

  it.skipIf(!isHere)('are found without reading those of other users', async () => {
    await database.query(
      `insert into user_keys (id, source_id, user_hash, key_encrypted)
       select 'key_' || n, 's1', 'h' || n, 'x' from generate_series(1, 20000) as n`,
    )
    const asked = Array.from({ length: 100 }, (_, n) => keyOf(`new_${n}`, 's1', `h${n + 19951}`))
    await database.transaction(async (tx) => {
      const found = await ensureUserKeys(tx, asked)
      expect(found.filter(({ id }) => id.startsWith('key_'))).toHaveLength(50)
      expect(found.filter(({ id }) => id.startsWith('new_'))).toHaveLength(50)
      const [row] = await tx.query<{ rows: number }>(
        `select (pg_stat_get_xact_tuples_returned('user_keys'::regclass)
           + pg_stat_get_xact_tuples_fetched('user_keys'::regclass))::int as rows`,
      )
      expect(row?.rows).toBeLessThan(1_000)
    })
  })

  describe('that nothing uses any more', () => {
    const limits = { retentionMs: 3 * dayMs, windowMs: 3 * dayMs }
    /** Retention, window and a margin of a week. */
    const keptMs = 13 * dayMs
    const expire = (isUnderWay = false): Promise<void> =>
      removeExpired({ database, ...limits, isUnderWaySince: async () => isUnderWay })
    const pausedForDays = async (days: number): Promise<void> => {
      await database.query('delete from destinations')
      await database.query(
        `insert into destinations (id, name, type, enabled, success_policy, paused_at)
         values ('dst_1', 'd', 'webhooks', true, 'any', now() - make_interval(days => $1))`,
        [days],
      )
    }
    beforeEach(async () => {
      if (!isHere) return
      await database.query('delete from destinations')
      await ensureUserKeys(database, [keyOf('key_old', 's1', 'h1'), keyOf('key_recent', 's1', 'h2')])
      await lastUsed('key_old', keptMs + hourMs)
      await lastUsed('key_recent', keptMs - hourMs)
    })

    it.skipIf(!isHere)('go, and those that a deletion request is to destroy stay for it', async () => {
      await ensureUserKeys(database, [keyOf('key_retired', 's1', 'h3')])
      await lastUsed('key_retired', keptMs + hourMs)
      await retireUserKeys(database, 'del_2', null, ['h3'])
      await expire()
      expect(await present()).toEqual(['key_recent', 'key_retired'])
    })

    it.skipIf(!isHere)('stay while a delivery may be held that is sealed with them', async () => {
      await pausedForDays(2)
      await expire()
      expect(await present()).toEqual(['key_old', 'key_recent'])
      // Its deliveries have begun again, and may take their whole window.
      await database.query(`update destinations set paused_at = null, paused_total_ms = $1`, [2 * dayMs])
      await expire()
      expect(await present()).toEqual(['key_old', 'key_recent'])
      await database.query(`update destinations set paused_total_ms = 0`)
      await expire()
      expect(await present()).toEqual(['key_recent'])
    })

    it.skipIf(!isHere)('stay while a delivery is under way that should have ended', async () => {
      await expire(true)
      expect(await present()).toEqual(['key_old', 'key_recent'])
    })

    it.skipIf(!isHere)('stay with their next use, which is written down once in some hours', async () => {
      const again = (): Promise<unknown> => ensureUserKeys(database, [keyOf('key_new', 's1', 'h1')])
      const noted = async (): Promise<string | undefined> =>
        (await database.query<{ at: string }>(`select xmin::text as at from user_keys where id = 'key_old'`))[0]?.at
      await again()
      await expire()
      expect(await present()).toEqual(['key_old', 'key_recent'])
      const once = await noted()
      await again()
      expect(await noted()).toBe(once)
    })

    it.skipIf(!isHere)('are used no more by a node that has them in memory', async () => {
      const secrets = createSecretBox(EncryptionKeysSchema.parse(encryptionKeys))
      const node = createUserKeys({
        ...{ database, secrets, logger, hashUser: (userId) => userId },
        suppression: { forgets: () => '0', isCurrent: () => true, upToDate: () => undefined },
      })
      const users = [{ sourceId: 's1', userId: 'h4' }]
      const [first] = (await node.ofUsers(users)) ?? []
      await lastUsed(first?.id ?? '', keptMs + hourMs)
      await expire()
      expect(await present()).toEqual(['key_recent'])
      const now = performance.now.bind(performance)
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + useNotedHours * hourMs + 1_000)
      try {
        const [later] = (await node.ofUsers(users)) ?? []
        expect(later?.id).not.toBe(first?.id)
        expect(await present()).toEqual(expect.arrayContaining([later?.id]))
      } finally {
        clock.mockRestore()
      }
    })
  })
})
