/** Keys of users, and what a deletion request destroys of them. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { createDeletionRequest, getDeletionRequest, markErased } from '../../src/db/deletion-requests.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { destroyKeysOf, ensureUserKeys, readUserKeys, retireUserKeys } from '../../src/db/user-keys.ts'

let folder: string
let database: Database

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-keys-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  database = await openPglite(folder, pino({ level: 'error' }))
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

it('counts what a request destroyed, also where the node ended before it could say so', async () => {
  const request = { id: 'del_1', userIds: ['u1'], scope: undefined, sourceIds: ['s1', 's2'], suppress: false }
  await createDeletionRequest(database, { ...request, createdAt: new Date() })
  const keys = ['s1', 's2'].map((sourceId) => ({ id: `key_${sourceId}`, sourceId, userHash: 'h1', encrypted: 'x' }))
  const other = { id: 'key_other', sourceId: 's1', userHash: 'h2', encrypted: 'x' }
  await ensureUserKeys(database, [...keys, other])
  await retireUserKeys(database, request.id, null, ['h1'])
  // The second one is the repeat of an activity of which nothing was heard.
  for (let time = 0; time < 2; time++) await destroyKeysOf(database, request.id)
  await markErased(database, request.id)
  expect(await getDeletionRequest(database, request.id)).toMatchObject({
    keys: 2,
    erasedAt: expect.any(String) as string,
  })
  expect(
    await readUserKeys(
      database,
      [...keys, other].map(({ id }) => id),
    ),
  ).toMatchObject([{ id: 'key_other' }])
})
