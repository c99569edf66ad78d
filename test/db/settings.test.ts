/** One suite for the settings, run on both databases: PGlite in a folder, and a PostgreSQL server. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { createDestinationStore, type DestinationStore } from '../../src/db/destinations.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import {
  createSource,
  deleteSource,
  endPreviousKeys,
  getSource,
  listSources,
  maxPreviousKeys,
  rotateWriteKey,
  updateSource,
} from '../../src/db/sources.ts'
import type { NewDestination, WebhookInput } from '../../src/schemas/destination.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { watchSettings, type Settings } from '../../src/settings/settings.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { until } from '../support/wait.ts'

const logger = pino({ level: 'error' })
const box = createSecretBox([{ id: 'k1', key: Buffer.alloc(32, 1) }])
const sharedSecret = 'do-not-store-me'
const headers = { Authorization: 'Bearer nor-me' }

interface Backend {
  open(): Promise<Database>
  close(): Promise<void>
}

async function pgliteBackend(): Promise<Backend> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-db-'))
  return { open: () => openPglite(folder, logger), close: () => rm(folder, { recursive: true }) }
}

async function postgresBackend(): Promise<Backend> {
  const server = await startPostgres()
  const url = await server.createDatabase()
  return { open: async () => openPostgres(url, logger), close: () => server.stop() }
}

const missing = findPostgres() === undefined
if (missing) console.warn('No PostgreSQL binaries here: the settings are tested on PGlite alone.')

describe.each([
  { name: 'PGlite', start: pgliteBackend, skip: false },
  { name: 'PostgreSQL', start: postgresBackend, skip: missing },
])('settings in $name', ({ name, start, skip }) => {
  describe.skipIf(skip)('', () => {
    let backend: Backend
    let database: Database
    let store: DestinationStore
    beforeAll(async () => {
      backend = await start()
      database = await backend.open()
    })
    afterAll(async () => {
      await database.close()
      await backend.close()
    })

    it('are migrated once, however many nodes start at the same time', async () => {
      // PGlite belongs to one node, which may still ask several times.
      const nodes =
        name === 'PGlite' ? [database, database, database] : await Promise.all([backend.open(), backend.open()])
      const applied = await Promise.all([database, ...nodes].map((node) => migrate(node)))
      expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
      const rows = await database.query<{ name: string }>('select name from migrations order by name')
      expect(rows.map((row) => row.name)).toEqual(applied.flat().sort())
      expect(await migrate(database)).toEqual([])
      await Promise.all(nodes.filter((node) => node !== database).map((node) => node.close()))
      store = createDestinationStore(database, box)
    })

    const newDestination = (more: Partial<NewDestination> = {}): NewDestination => ({
      name: 'D',
      type: 'webhooks',
      enabled: true,
      successPolicy: 'any',
      sourceIds: [],
      settings: { sharedSecret, webhooks: [{ url: 'https://a.example/', headers }, { url: 'https://b.example/' }] },
      ...more,
    })

    describe('sources', () => {
      it('are made, read, changed, given a new key and deleted', async () => {
        const source = await createSource(database, { name: 'S' })
        expect(source).toMatchObject({ name: 'S', enabled: true })
        expect(source.writeKey).toMatch(/^[0-9a-f]{40}$/)
        expect(await getSource(database, source.id)).toEqual(source)
        const renamed = { ...source, name: 'T' }
        expect(await updateSource(database, source.id, { name: 'T' })).toEqual(renamed)
        expect(await updateSource(database, source.id, { enabled: false })).toEqual({ ...renamed, enabled: false })
        const { writeKey } = await rotateWriteKey(database, source.id, 0)
        expect(writeKey).not.toBe(source.writeKey)
        expect(await getSource(database, source.id)).toEqual({ ...renamed, enabled: false, writeKey })
        await deleteSource(database, source.id)
        await expect(getSource(database, source.id)).rejects.toMatchObject({ code: 'not_found' })
        await expect(updateSource(database, source.id, { name: 'U' })).rejects.toMatchObject({ code: 'not_found' })
        await expect(rotateWriteKey(database, source.id, 60)).rejects.toMatchObject({ code: 'not_found' })
        await expect(deleteSource(database, source.id)).rejects.toMatchObject({ code: 'not_found' })
      })

      it('keep each replaced write key for its own time, until one is replaced at once', async () => {
        const { id, writeKey: first } = await createSource(database, { name: 'S' })
        const node = watchSettings(database, store, logger)
        await node.load()
        const sourcesOf = async (...keys: string[]) => {
          await node.catchUp()
          return keys.map((key) => node.sourceByWriteKey(key)?.id)
        }
        const second = await rotateWriteKey(database, id, 3_600)
        const third = await rotateWriteKey(database, id, 1)
        expect(Date.parse(second.previousKeyExpiresAt ?? '')).toBeGreaterThan(Date.now() + 3_500_000)
        expect(third.previousKeyExpiresAt).toBe(second.previousKeyExpiresAt)
        expect(third.previousKeyEnds.map(({ keyBegins }) => keyBegins)).toEqual(
          [second.writeKey, first].map((key) => key.slice(0, 6)),
        )
        expect(Date.parse(third.previousKeyEnds[0]?.expiresAt ?? '')).toBeLessThan(Date.now() + 2_000)
        expect(third.previousKeyEnds[1]?.expiresAt).toBe(second.previousKeyExpiresAt)
        expect(await getSource(database, id)).toEqual(third)
        expect(await sourcesOf(first, second.writeKey, third.writeKey)).toEqual([id, id, id])
        await until('the second key has ended', () => node.sourceByWriteKey(second.writeKey) === undefined)
        expect(await sourcesOf(first, third.writeKey)).toEqual([id, id])

        const fourth = await rotateWriteKey(database, id, 0)
        expect(fourth.previousKeyExpiresAt).toBeNull()
        expect(await sourcesOf(first, third.writeKey, fourth.writeKey)).toEqual([undefined, undefined, id])
        const fifth = await rotateWriteKey(database, id, 3_600)
        expect(await sourcesOf(fourth.writeKey, fifth.writeKey)).toEqual([id, id])
        expect(await endPreviousKeys(database, id)).toEqual({
          ...fifth,
          previousKeyExpiresAt: null,
          previousKeyEnds: [],
        })
        expect(await sourcesOf(fourth.writeKey, fifth.writeKey)).toEqual([undefined, id])
        node.close()
      })

      it(`have up to ${maxPreviousKeys} replaced keys that count, and lose them with the source`, async () => {
        const { id } = await createSource(database, { name: 'S' })
        for (let replaced = 0; replaced < maxPreviousKeys; replaced++) await rotateWriteKey(database, id, 60)
        const before = await getSource(database, id)
        await expect(rotateWriteKey(database, id, 60)).rejects.toMatchObject({ code: 'conflict' })
        expect(await getSource(database, id)).toEqual(before)
        await expect(endPreviousKeys(database, 'src_none')).rejects.toMatchObject({ code: 'not_found' })
        await deleteSource(database, id)
        expect(await database.query('select 1 from previous_write_keys where source_id = $1', [id])).toEqual([])
      })

      it('are listed in pages, each one once, in the order in which they were made', async () => {
        const made: string[] = []
        for (let index = 0; index < 5; index++) made.push((await createSource(database, { name: `P${index}` })).id)
        const seen: string[] = []
        let cursor: string | null | undefined
        do {
          const page = await listSources(database, { limit: 2, ...(cursor ? { cursor } : {}) })
          expect(page.items.length).toBeLessThanOrEqual(2)
          seen.push(...page.items.map(({ id }) => id))
          cursor = page.nextCursor
        } while (cursor)
        expect(seen.slice(-5)).toEqual(made)
        expect(new Set(seen).size).toBe(seen.length)
      })

      it.each([
        'x',
        'March x',
        '2026-13-45 x',
        'infinity x',
        '1 x',
        '2026-01-01T00:00:00Z \0',
        '',
        '2026-01-01T00:00:00Z',
      ])('refuse the cursor "%s" as the fault of its sender', async (text) => {
        const cursor = Buffer.from(text).toString('base64url')
        await expect(listSources(database, { limit: 2, cursor })).rejects.toMatchObject({
          code: 'bad_request',
          path: 'cursor',
        })
      })
    })

    describe('destinations', () => {
      it('come back as they were given, without the secret', async () => {
        const source = await createSource(database, { name: 'S' })
        const destination = await store.create(newDestination({ sourceIds: [source.id, source.id] }))
        expect(destination).toMatchObject({
          name: 'D',
          enabled: true,
          paused: false,
          successPolicy: 'any',
          sourceIds: [source.id],
          settings: {
            hasSharedSecret: true,
            webhooks: [
              { url: 'https://a.example/', headers },
              { url: 'https://b.example/', headers: {} },
            ],
          },
        })
        expect(await store.get(destination.id)).toEqual(destination)
        expect(JSON.stringify(destination)).not.toContain(sharedSecret)
      })

      it('store the secret and the headers sealed', async () => {
        const { id } = await store.create(newDestination())
        await store.update(id, { settings: { sharedSecret: 'the next one', secretOverlapSeconds: 60 } })
        const rows = await database.query(
          `select d::text as destination, e::text as endpoint from destinations d join endpoints e on e.destination_id = d.id where d.id = $1`,
          [id],
        )
        const text = JSON.stringify(rows)
        expect(rows).toHaveLength(2)
        for (const clear of [sharedSecret, 'the next one', 'nor-me', 'Authorization']) {
          expect(text).not.toContain(clear)
          expect(text).not.toContain(Buffer.from(clear).toString('base64').slice(0, -4))
          expect(text).not.toContain(Buffer.from(clear).toString('hex'))
        }
        expect(text.match(/k1:[A-Za-z0-9+/=]+/g)).toHaveLength(2 * 2 + 2)
        const stored = (await store.all()).find((one) => one.id === id)
        expect(stored?.secrets.map(({ secret }) => secret)).toEqual(['the next one', sharedSecret])
        expect(stored?.settings.webhooks[0]?.headers).toEqual(headers)
      })

      it('keep the ids and headers of the endpoints that carry their id, in the new order', async () => {
        const { id, settings } = await store.create(newDestination())
        const [a, b] = settings.webhooks
        const changed = await store.update(id, {
          settings: {
            webhooks: [
              { url: 'https://new.example/' },
              { id: String(b?.id), url: 'https://b2.example/' },
              { id: String(a?.id), url: 'https://a.example/' },
            ],
          },
        })
        expect(changed.settings.webhooks).toMatchObject([
          { url: 'https://new.example/', headers: {} },
          { id: b?.id, url: 'https://b2.example/', headers: {} },
          { id: a?.id, url: 'https://a.example/', headers },
        ])
        expect(changed.settings.hasSharedSecret).toBe(true)
        const emptied = await store.update(id, {
          settings: { webhooks: [{ id: String(a?.id), url: 'https://a.example/', headers: {} }] },
        })
        expect(emptied.settings.webhooks).toEqual([{ id: a?.id, url: 'https://a.example/', headers: {} }])
      })

      describe('given endpoints without an id', () => {
        const urls = ['https://a.example/', 'https://b.example/', 'https://c.example/']
        const made = async () => {
          const webhooks = urls.map((url) => ({ url, headers }))
          const { id, settings } = await store.create(newDestination({ settings: { webhooks } }))
          const [a = '', b = '', c = ''] = settings.webhooks.map((webhook) => webhook.id)
          const change = async (to: WebhookInput[]) =>
            (await store.update(id, { settings: { webhooks: to } })).settings.webhooks
          return { a, b, c, change }
        }

        it('keep those of the same URL, in the new order', async () => {
          const { a, b, c, change } = await made()
          const [urlA = '', urlB = '', urlC = ''] = urls
          expect(await change([{ url: urlC }, { url: urlA }, { url: urlB }])).toEqual([
            { id: c, url: urlC, headers },
            { id: a, url: urlA, headers },
            { id: b, url: urlB, headers },
          ])
          expect(await change([{ url: 'https://B.example' }])).toEqual([{ id: b, url: 'https://B.example', headers }])
        })

        it('take a changed URL for the next endpoint that no other entry means', async () => {
          const { a, b, c, change } = await made()
          const changed = await change([{ url: 'https://new.example/' }, { url: 'https://a.example/' }])
          expect(changed.map(({ id }) => id)).toEqual([b, a])
          expect(changed.map(({ id }) => id)).not.toContain(c)
          const grown = await change([
            { url: 'https://x.example/' },
            { url: 'https://y.example/' },
            { url: 'https://z.example/' },
          ])
          expect(grown.map(({ id }) => id).slice(0, 2)).toEqual([b, a])
          expect([a, b, c]).not.toContain(grown[2]?.id)
        })

        it('let an id win over the URL', async () => {
          const { a, b, c, change } = await made()
          const changed = await change([
            { url: 'https://b.example/' },
            { id: b, url: 'https://a.example/' },
            { url: 'https://c.example/' },
          ])
          expect(changed.map(({ id }) => id)).toEqual([a, b, c])
        })

        it('keep the headers of a corrected path, and send none to another server unasked', async () => {
          const { a, b, c, change } = await made()
          const changed = await change([
            { url: 'https://a.example/hook' },
            { url: 'https://other.example/' },
            { url: 'https://c.example/', headers: {} },
          ])
          expect(changed).toEqual([
            { id: a, url: 'https://a.example/hook', headers },
            { id: b, url: 'https://other.example/', headers: {} },
            { id: c, url: 'https://c.example/', headers: {} },
          ])
        })
      })

      it('change whole or not at all', async () => {
        const other = await store.create(newDestination())
        const before = await store.create(newDestination())
        const foreign = String(other.settings.webhooks[0]?.id)
        const webhooks = [{ id: foreign, url: 'https://c.example/' }]
        await expect(store.update(before.id, { name: 'changed', settings: { webhooks } })).rejects.toMatchObject({
          code: 'bad_request',
          path: 'settings.webhooks[0].id',
        })
        await expect(store.update(before.id, { name: 'changed', sourceIds: ['src_none'] })).rejects.toMatchObject({
          code: 'bad_request',
          path: 'sourceIds[0]',
        })
        await expect(store.create(newDestination({ name: 'never', sourceIds: ['src_none'] }))).rejects.toThrow()
        expect(await store.get(before.id)).toEqual(before)
        expect((await store.all()).filter(({ name: text }) => text === 'never')).toEqual([])
      })

      it('count the time that they were paused', async () => {
        const { id } = await store.create(newDestination())
        const stored = async () => (await store.all()).find((one) => one.id === id)
        expect((await store.update(id, { paused: true })).paused).toBe(true)
        const since = (await stored())?.pausedAt
        await store.update(id, { paused: true })
        expect((await stored())?.pausedAt).toEqual(since)
        await until('the clock moved', () => Date.now() - (since?.getTime() ?? 0) > 100)
        expect((await store.update(id, { paused: false })).paused).toBe(false)
        const total = (await stored())?.pausedTotalMs ?? 0
        expect(total).toBeGreaterThanOrEqual(90)
        await store.update(id, { paused: false })
        expect(await stored()).toMatchObject({ pausedAt: null, pausedTotalMs: total })
      })

      it('lose a source that is deleted, and are gone with their endpoints when they are deleted', async () => {
        const source = await createSource(database, { name: 'S' })
        const { id } = await store.create(newDestination({ sourceIds: [source.id] }))
        await deleteSource(database, source.id)
        expect((await store.get(id)).sourceIds).toEqual([])
        await store.delete(id)
        await expect(store.get(id)).rejects.toMatchObject({ code: 'not_found' })
        expect(await database.query('select id from endpoints where destination_id = $1', [id])).toEqual([])
      })
    })

    describe('in the memory of a node', () => {
      let node: Settings
      beforeAll(async () => {
        node = watchSettings(database, store, logger)
        await node.load()
      })
      afterAll(() => node.close())

      it('follow what another node changed', async () => {
        const source = await createSource(database, { name: 'From elsewhere' })
        const { id } = await store.create(newDestination({ sourceIds: [source.id] }))
        await until('the new destination', () => node.destination(id) !== undefined)
        expect(node.sourceByWriteKey(source.writeKey)?.destinations.map((one) => one.id)).toEqual([id])
        await store.update(id, { enabled: false })
        await until('that it is switched off', () => node.destination(id)?.enabled === false)
        expect(node.source(source.id)?.destinations).toEqual([])
        await store.delete(id)
        await until('that it is gone', () => node.destination(id) === undefined)
      })

      it('are read at once before a conclusion that depends on the newest', async () => {
        const { id } = await store.create(newDestination())
        expect(node.destination(id)).toBeUndefined()
        await node.catchUp()
        expect(node.destination(id)?.id).toBe(id)
      })
    })

    it('take many changes at the same time', async () => {
      const node = watchSettings(database, store, logger)
      await node.load()
      const made = await Promise.all(
        Array.from({ length: 30 }, async (_, index) => {
          const source = await createSource(database, { name: `Many ${index}` })
          await node.refresh()
          const destination = await store.create(newDestination({ sourceIds: [source.id] }))
          await node.refresh()
          await store.update(destination.id, { paused: true })
          await node.refresh()
          return destination.id
        }),
      )
      expect(made.map((id) => node.destination(id)?.paused)).toEqual(made.map(() => true))
      node.close()
    })
  })
})
