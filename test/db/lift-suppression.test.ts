/** Who is suppressed, and who not any more. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { countForgets } from '../../src/db/audiences-forget.ts'
import type { Database } from '../../src/db/database.ts'
import {
  createDeletionRequest,
  finishUsers,
  openDeletionRequest,
  usersToDelete,
} from '../../src/db/deletion-requests.ts'
import { liftSuppression } from '../../src/db/lift-suppression.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { countSuppressed } from '../../src/db/suppressed-users.ts'

let folder: string
let database: Database

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-lift-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  database = await openPglite(folder, pino({ level: 'error' }))
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

const suppress = (id: string, userIds: string[], scope: string[] | undefined): Promise<void> =>
  createDeletionRequest(database, { id, userIds, scope, sourceIds: [], suppress: true, createdAt: new Date() })

const carryOut = async (id: string): Promise<void> => {
  const request = await openDeletionRequest(database, id)
  if (request === undefined) throw new Error('no request')
  const users = await usersToDelete(database, id, 0, 1_000)
  await finishUsers(database, request, users, { started: 0, skipped: 0, cancelled: 0, deliveries: 0 }, new Date())
}

/** So many that one statement does not hold the hashes of all users there. */
const sourceIds = Array.from({ length: 30 }, (_, n) => `s${n}`)

it('ends for the users and sources that are named, and no others, once their deletion is carried out', async () => {
  const users = Array.from({ length: 500 }, (_, n) => `u${n}`)
  await suppress('del_some', users, ['s0', 's29'])
  await suppress('del_all', ['u0', 'everywhere'], undefined)
  expect(await countSuppressed(database)).toBe(1_002)

  const early = await liftSuppression(database, { userIds: ['new', 'u7'], scope: null, sourceIds })
  expect(early).toEqual({ kind: 'under_way', index: 1 })
  await carryOut('del_some')
  await carryOut('del_all')
  expect((await countForgets(database)).lifts).toBe('0')

  const one = await liftSuppression(database, { userIds: ['u0', 'u1', 'new'], scope: ['s29'], sourceIds })
  expect(one).toEqual({ kind: 'lifted', lifted: 2, remaining: 1 })
  expect(await countSuppressed(database)).toBe(1_000)
  const named = await liftSuppression(database, { userIds: ['everywhere'], scope: ['s1'], sourceIds })
  expect(named).toEqual({ kind: 'lifted', lifted: 0, remaining: 1 })
  const all = await liftSuppression(database, { userIds: users, scope: null, sourceIds })
  expect(all).toEqual({ kind: 'lifted', lifted: 500, remaining: 0 })
  expect(await countSuppressed(database)).toBe(1)
  // Once for each time that there was something to lift.
  expect((await countForgets(database)).lifts).toBe('2')
})
