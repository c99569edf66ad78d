import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import type { Database, Queryable } from '../../src/db/database.ts'
import { createDestinationStore } from '../../src/db/destinations.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { createSource, deleteSource, endPreviousKeys, rotateWriteKey } from '../../src/db/sources.ts'
import { createSecretBox, type SecretBox } from '../../src/secrets.ts'
import { watchSettings } from '../../src/settings/settings.ts'
import { makeDataFolder } from '../support/app.ts'

const logger = pino({ level: 'error' })
const boxOf = (id: string): SecretBox => createSecretBox([{ id, key: Buffer.alloc(32, id) }])

async function openDatabase(): Promise<Database> {
  const folder = await makeDataFolder()
  const database = await openPglite(join(folder, 'pglite'), logger)
  onTestFinished(async () => {
    await database.close()
    await rm(folder, { recursive: true })
  })
  return database
}

const newDestination = (name: string, sourceIds: string[]) => ({
  name,
  type: 'webhooks' as const,
  enabled: true,
  successPolicy: 'any' as const,
  sourceIds,
  settings: { sharedSecret: `secret of ${name}`, webhooks: [{ url: 'https://example.test/', headers: { name } }] },
})

it('reads and opens only what changed, and opens it when it is needed', async () => {
  const database = await openDatabase()
  const box = boxOf('k1')
  let [rows, opened] = [0, 0]
  const counted: Database = {
    ...database,
    query: (async (...statement: Parameters<Queryable['query']>) => {
      const found = await database.query(...statement)
      rows += found.length
      return found
    }) as Queryable['query'],
  }
  const store = createDestinationStore(counted, {
    ...box,
    open(sealed) {
      opened++
      return box.open(sealed)
    },
  })
  const sources = []
  const destinations = []
  for (let n = 0; n < 40; n++) {
    const source = await createSource(database, { name: `source ${n}` })
    sources.push(source)
    destinations.push(await store.create(newDestination(`destination ${n}`, [source.id])))
  }
  const [first, second] = sources
  const [destination, other] = destinations
  if (first === undefined || second === undefined || destination === undefined || other === undefined)
    throw new Error('nothing was made')
  opened = 0
  const settings = watchSettings(counted, store, logger)
  await settings.load()
  // A look of its own would be counted too.
  settings.close()
  expect(opened).toBe(0)
  const read = async (change: () => Promise<unknown>): Promise<{ rows: number; opened: number }> => {
    await change()
    ;[rows, opened] = [0, 0]
    await settings.refresh()
    return { rows, opened }
  }

  expect(settings.source(first.id)?.destinations.map(({ id }) => id)).toEqual([destination.id])
  // Its own row, the version, and the note of the change.
  const one = { rows: 3, opened: 0 }
  expect(await read(() => store.update(destination.id, { sourceIds: [second.id] }))).toEqual(one)
  expect(settings.source(first.id)?.destinations).toEqual([])
  expect(settings.source(second.id)?.destinations.map(({ id }) => id)).toEqual([destination.id, other.id])
  expect(settings.destination(destination.id)?.secrets[0]?.secret).toBe('secret of destination 0')
  expect(settings.destination(destination.id)?.settings.webhooks[0]?.headers).toEqual({ name: 'destination 0' })

  expect(await read(() => store.update(other.id, { enabled: false }))).toEqual(one)
  expect(settings.source(second.id)?.destinations.map(({ id }) => id)).toEqual([destination.id])

  const rotated = await rotateWriteKey(database, first.id, 60)
  await settings.refresh()
  expect(settings.sourceByWriteKey(first.writeKey)?.id).toBe(first.id)
  expect(settings.sourceByWriteKey(rotated.writeKey)?.id).toBe(first.id)
  expect(await read(() => endPreviousKeys(database, first.id))).toEqual(one)
  expect(settings.sourceByWriteKey(first.writeKey)).toBeUndefined()

  await read(() => deleteSource(database, second.id))
  expect(settings.source(second.id)).toBeUndefined()
  expect(settings.sourceByWriteKey(second.writeKey)).toBeUndefined()
  expect(settings.destination(destination.id)?.sourceIds).toEqual([])
  expect(await read(() => store.delete(destination.id))).toEqual({ rows: 2, opened: 0 })
  expect(settings.destination(destination.id)).toBeUndefined()
  expect([...settings.destinations()].length).toBe(39)
})

it('has the destinations of a source in the order of their creation, whichever is edited', async () => {
  const database = await openDatabase()
  const store = createDestinationStore(database, boxOf('k1'))
  const source = await createSource(database, { name: 'source' })
  const created = []
  for (const name of ['one', 'two', 'three']) created.push(await store.create(newDestination(name, [source.id])))
  const settings = watchSettings(database, store, logger)
  await settings.load()
  onTestFinished(() => settings.close())
  const order = () => settings.source(source.id)?.destinations.map(({ id }) => id)
  const ids = created.map(({ id }) => id)
  expect(order()).toEqual(ids)
  for (const id of ids) {
    await store.update(id, { name: `edited ${id}` })
    await settings.refresh()
    expect(order()).toEqual(ids)
  }
  await store.update(ids[0] ?? '', { enabled: false })
  await settings.refresh()
  expect(order()).toEqual(ids.slice(1))
  await store.update(ids[0] ?? '', { enabled: true })
  await settings.refresh()
  expect(order()).toEqual(ids)
})
