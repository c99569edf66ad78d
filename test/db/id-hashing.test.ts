import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../../src/db/database.ts'
import { ensureIdHashing, noteNoPlain } from '../../src/db/id-hashing.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { resealAll } from '../../src/db/sealed-columns.ts'
import { createSource } from '../../src/db/sources.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { makeDataFolder } from '../support/app.ts'

const [k1, k2, k3] = [1, 2, 3].map((n) => ({ id: `k${n}`, key: Buffer.alloc(32, n) })) as [Key, Key, Key]
type Key = { id: string; key: Buffer }

let folder: string
let database: Database
beforeAll(async () => {
  folder = await makeDataFolder()
  database = await openPglite(join(folder, 'pglite'), pino({ level: 'error' }))
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})
beforeEach(() => database.query('truncate id_hashing, id_hashing_keys, sources cascade'))

describe('the key of names', () => {
  it('is one for all nodes, also of those that start at once', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => ensureIdHashing(database, [k1])))
    expect(new Set(made.map(({ key }) => key.toString('hex'))).size).toBe(1)
    expect(made[0]?.key).toHaveLength(32)
  })

  it('stays as it is while the key ring changes, and needs no key of it that was dropped after a rotation', async () => {
    const { key } = await ensureIdHashing(database, [k1])
    expect((await ensureIdHashing(database, [k2, k1])).key).toEqual(key)
    // A node that does not know the new key yet.
    expect((await ensureIdHashing(database, [k1])).key).toEqual(key)
    const report = { onProgress: () => {}, onUnreadable: () => expect.unreachable() }
    await resealAll(database, createSecretBox([k3, k2, k1]), 'k3', report)
    expect((await ensureIdHashing(database, [k3])).key).toEqual(key)
    await expect(ensureIdHashing(database, [k1])).rejects.toThrow('"k3" is not in POSTRIDER_ENCRYPTION_KEYS')
  })
})

describe('names', () => {
  it('are hashed at once in a new installation, and an hour after an upgrade', async () => {
    const fresh = await ensureIdHashing(database, [k1])
    expect(fresh).toMatchObject({ hasPlain: false })
    expect(fresh.beginsAt.getTime()).toBeLessThanOrEqual(Date.now())

    await database.query('truncate id_hashing, id_hashing_keys')
    await createSource(database, { name: 'Shop' })
    const upgraded = await ensureIdHashing(database, [k1])
    expect(upgraded).toMatchObject({ hasPlain: true })
    expect(upgraded.beginsAt.getTime()).toBeGreaterThan(Date.now() + 3_000_000)
    await noteNoPlain(database)
    expect(await ensureIdHashing(database, [k1])).toMatchObject({ hasPlain: false, beginsAt: upgraded.beginsAt })
  })
})
