import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAudienceStore, type AudienceStore } from '../../src/db/audiences.ts'
import type { Database } from '../../src/db/database.ts'
import { createDestinationStore, type DestinationStore } from '../../src/db/destinations.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { countByKey, resealAll, sealedColumns, type SealedValue } from '../../src/db/sealed-columns.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { makeDataFolder } from '../support/app.ts'

const k1 = { id: 'k1', key: Buffer.alloc(32, 1) }
const k2 = { id: 'k2', key: Buffer.alloc(32, 2) }
const both = createSecretBox([k2, k1])

let folder: string
let database: Database
let destinations: DestinationStore
let audiences: AudienceStore
beforeAll(async () => {
  folder = await makeDataFolder()
  database = await openPglite(join(folder, 'pglite'), pino({ level: 'error' }))
  const before = createSecretBox([k1])
  destinations = createDestinationStore(database, before)
  audiences = createAudienceStore(database, before)
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})
beforeEach(() => database.query('truncate destinations, audiences cascade'))

const createDestination = (name: string) =>
  destinations.create({
    name,
    type: 'webhooks',
    enabled: true,
    successPolicy: 'any',
    sourceIds: [],
    settings: {
      sharedSecret: `secret of ${name}`,
      webhooks: [{ url: 'https://example.com', headers: { 'X-Of': name } }],
    },
  })

const createAudience = (destinationIds: string[]) =>
  audiences.create({
    name: 'Churning',
    key: 'churning',
    kind: 'audience',
    destinationIds,
    membership: { kind: 'http', url: 'https://example.com/members', headers: { Authorization: 'of the audience' } },
    maxBadRowShare: 0.1,
    maxRemovalShare: 0.5,
    maxPerSecond: null,
  })

async function reseal(box = both): Promise<{ resealed: number; looks: number[]; unreadable: SealedValue[] }> {
  const looks: number[] = []
  const unreadable: SealedValue[] = []
  const resealed = await resealAll(database, box, 'k2', {
    onProgress: (done) => looks.push(done),
    onUnreadable: ({ table, column, id }) => unreadable.push({ table, column, id }),
  })
  return { resealed, looks, unreadable }
}

const byKey = async (): Promise<Record<string, number>> => Object.fromEntries(await countByKey(database))

describe('sealed columns', () => {
  it('are all there are', async () => {
    const rows = await database.query<{ table: string; column: string }>(
      `select table_name as "table", column_name as "column" from information_schema.columns
       where table_schema = 'public' and column_name like '%\\_encrypted' order by 1, 2`,
    )
    const key = ({ table, column }: { table: string; column: string }) => `${table}.${column}`
    expect(sealedColumns.map(key).sort()).toEqual(rows.map(key))
  })

  it('are sealed with the newest key, so that the old one may go', async () => {
    const { id } = await createDestination('first')
    const audience = await createAudience([id])
    await destinations.update(id, { settings: { sharedSecret: 'changed', secretOverlapSeconds: 3_600 } })
    expect(await byKey()).toEqual({ k1: 4 })

    expect(await reseal()).toEqual({ resealed: 4, looks: [1, 2, 3, 4], unreadable: [] })
    expect(await byKey()).toEqual({ k2: 4 })
    const after = createSecretBox([k2])
    const [destination] = await createDestinationStore(database, after).all()
    expect(destination?.secrets.map(({ secret }) => secret)).toEqual(['changed', 'secret of first'])
    expect(destination?.settings.webhooks[0]?.headers).toEqual({ 'X-Of': 'first' })
    expect(await createAudienceStore(database, after).getStored(audience.id)).toMatchObject({
      membership: { headers: { Authorization: 'of the audience' } },
    })
    expect(await reseal()).toEqual({ resealed: 0, looks: [], unreadable: [] })
  })

  it('stay as they are where they cannot be read, are named, and do not keep the others', async () => {
    const ids = [await createDestination('a'), await createDestination('b'), await createDestination('c')].map(
      ({ id }) => id,
    )
    const [foreign, garbled] = ids as [string, string]
    const sealed = createSecretBox([{ id: 'k0', key: Buffer.alloc(32) }]).seal('of a key that is gone')
    await database.query('update destinations set shared_secret_encrypted = $2 where id = $1', [foreign, sealed])
    await database.query(`update endpoints set headers_encrypted = 'nonsense' where destination_id = $1`, [garbled])

    const { resealed, unreadable } = await reseal()
    expect(resealed).toBe(4)
    const endpoint = (
      await database.query<{ id: string }>('select id from endpoints where destination_id = $1', [garbled])
    )[0]
    expect(unreadable).toEqual([
      { table: 'destinations', column: 'shared_secret_encrypted', id: foreign },
      { table: 'endpoints', column: 'headers_encrypted', id: endpoint?.id },
    ])
    expect(await byKey()).toEqual({ k2: 4, k0: 1, nonsense: 1 })
  })

  it('go on where a run was cut off', async () => {
    for (const name of ['a', 'b', 'c']) await createDestination(name)
    const cut = resealAll(database, both, 'k2', {
      onProgress: (done) => {
        if (done === 2) throw new Error('cut off')
      },
      onUnreadable: () => {},
    })
    await expect(cut).rejects.toThrow('cut off')
    expect(await byKey()).toEqual({ k1: 4, k2: 2 })
    expect(await reseal()).toMatchObject({ resealed: 4 })
    expect(await byKey()).toEqual({ k2: 6 })
  })

  it('may be sealed by several runs at a time, beside changes, which are kept', async () => {
    const made = await Promise.all(Array.from({ length: 210 }, (_, index) => createDestination(`number ${index}`)))
    const [first, last] = [made[0]?.id ?? '', made.at(-1)?.id ?? '']
    const change = (id: string) => destinations.update(id, { settings: { sharedSecret: `newer of ${id}` } })
    const [one, other] = await Promise.all([reseal(), reseal(), change(first), change(last)])
    expect([...one.unreadable, ...other.unreadable]).toEqual([])
    // What a node without the newest key changed behind the walk is left, and the next run has it.
    const { k1: left = 0 } = await byKey()
    expect(left).toBeLessThanOrEqual(2)
    expect((await reseal()).resealed).toBe(left)
    expect(await byKey()).toEqual({ k2: 420 })
    const secrets = new Map(
      (await createDestinationStore(database, createSecretBox([k2])).all()).map((one) => [
        one.id,
        one.secrets[0]?.secret,
      ]),
    )
    for (const { id, name } of made)
      expect(secrets.get(id)).toBe([first, last].includes(id) ? `newer of ${id}` : `secret of ${name}`)
  })
})
