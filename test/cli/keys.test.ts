/** The retirement of an encryption key by `postrider keys`, on PostgreSQL and on the embedded database. */

import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openDataFolder } from '../../src/data-folder.ts'
import type { Database } from '../../src/db/database.ts'
import { createDestinationStore } from '../../src/db/destinations.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { openShell, type Shell } from './command.ts'

const key = (id: string, byte: number) => ({ id, key: Buffer.alloc(32, byte) })
const [k1, k2] = [key('k1', 1), key('k2', 2)]
const ring = (...keys: { id: string; key: Buffer }[]): string =>
  keys.map((one) => `${one.id}:${one.key.toString('base64')}`).join(',')

const logger = pino({ level: 'error' })

let shell: Shell
beforeAll(async () => {
  shell = await openShell()
})
afterAll(() => shell[Symbol.asyncDispose]())

const createDestination = (database: Database, sealing = k1) =>
  createDestinationStore(database, createSecretBox([sealing])).create({
    name: 'CRM',
    type: 'webhooks',
    enabled: true,
    successPolicy: 'any',
    sourceIds: [],
    settings: { sharedSecret: 'a shared secret', webhooks: [{ url: 'https://example.com' }] },
  })

const secretsOf = async (database: Database): Promise<(string | undefined)[]> =>
  (await createDestinationStore(database, createSecretBox([k2])).all()).map(({ secrets }) => secrets[0]?.secret)

describe.skipIf(findPostgres() === undefined)('on PostgreSQL', () => {
  let postgres: PostgresServer
  let env: { DATABASE_URL: string; POSTRIDER_ENCRYPTION_KEYS: string }
  let database: Database
  beforeAll(async () => {
    postgres = await startPostgres()
    env = { DATABASE_URL: await postgres.createDatabase(), POSTRIDER_ENCRYPTION_KEYS: ring(k2, k1) }
    database = openPostgres(env.DATABASE_URL, logger)
    await migrate(database)
  })
  afterAll(async () => {
    await database.close()
    await postgres.stop()
  })

  it('seals with the newest key beside what runs, and tells which key may be dropped', async () => {
    await Promise.all(Array.from({ length: 50 }, () => createDestination(database)))
    expect(await shell.json(['keys', 'show'], { env })).toEqual({
      keys: [
        { id: 'k2', state: 'newest', secrets: 0, mayBeDropped: false },
        { id: 'k1', state: 'older', secrets: 100, mayBeDropped: false },
      ],
    })
    const unasked = await shell.run(['keys', 'rotate'], { env })
    expect(unasked).toMatchObject({ code: 2, stdout: '' })
    expect(unasked.stderr).toContain('k2')

    const runs = await Promise.all(
      [1, 2].map(() => shell.json<{ resealed: number }>(['keys', 'rotate', '--yes'], { env })),
    )
    expect(runs.reduce((sum, { resealed }) => sum + resealed, 0)).toBe(100)
    expect(await shell.json(['keys', 'show'], { env })).toEqual({
      keys: [
        { id: 'k2', state: 'newest', secrets: 100, mayBeDropped: false },
        { id: 'k1', state: 'older', secrets: 0, mayBeDropped: true },
      ],
    })
    expect(await secretsOf(database)).toEqual(Array(50).fill('a shared secret'))
  })

  it('names what it cannot read, does the rest, and ends with 1', async () => {
    const { id } = await createDestination(database, key('k0', 9))
    await createDestination(database)
    const { code, stdout } = await shell.run(['keys', 'rotate', '--yes'], { env })
    expect(code).toBe(1)
    expect(stdout).toContain('2 sealed with k2.')
    expect(stdout).toContain(`Not read: destinations ${id}, shared_secret_encrypted`)
    expect(stdout).toMatch(/^k0 +missing +2 +no/m)
    expect(stdout).toMatch(/^k1 +older +0 +yes, later/m)
    expect(stdout).toContain('no sooner than 3d (POSTRIDER_RETENTION')
  })

  it('ends with 3 when the database does not answer, and with 2 without keys', async () => {
    const away = { ...env, DATABASE_URL: 'postgres://u:a-password@127.0.0.1:1/none' }
    const [unreachable, keyless] = await Promise.all([
      shell.run(['keys', 'show'], { env: away }),
      shell.run(['keys', 'show'], { env: { DATABASE_URL: env.DATABASE_URL } }),
    ])
    expect(unreachable.code).toBe(3)
    expect(unreachable.stderr).not.toContain('a-password')
    expect(keyless).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('on the embedded database', () => {
  it('works while the node is stopped, with the keys of the data folder', async () => {
    const dataDir = join(shell.folder, 'data')
    await mkdir(dataDir)
    await cp(inject('databaseTemplate'), join(dataDir, 'pglite'), { recursive: true })
    await writeFile(join(dataDir, 'encryption-keys'), `${ring(k2, k1)}\n`)
    const open = () => openPglite(join(dataDir, 'pglite'), logger)
    const before = await open()
    await createDestination(before)
    await before.close()
    const env = { POSTRIDER_DATA_DIR: dataDir }

    const running = await openDataFolder(dataDir)
    const refused = await shell.run(['keys', 'rotate'], { env })
    await running.close()
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('in use')

    expect(await shell.json(['keys', 'rotate'], { env })).toMatchObject({
      resealed: 2,
      keys: [
        { id: 'k2', secrets: 2 },
        { id: 'k1', mayBeDropped: true },
      ],
      unreadable: [],
    })
    const after = await open()
    expect(await secretsOf(after)).toEqual(['a shared secret'])
    await after.close()
  })
})
