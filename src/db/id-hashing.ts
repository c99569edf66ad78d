/** How this installation hashes the names that callers give: the key, and from when on. */

import { randomBytes } from 'node:crypto'
import type { EncryptionKey } from '../config.ts'
import { createSecretBox } from '../secrets.ts'
import type { Database, Queryable } from './database.ts'

const keyBytes = 32

/** How long after an upgrade names still stand in Temporal as they are, in minutes: nodes of the version before, which find them
 *  in no other form, are replaced meanwhile. */
const plainMinutes = 60

export interface IdHashing {
  /** For HMAC-SHA-256. */
  key: Buffer
  /** From when on names are hashed. */
  beginsAt: Date
  /** Whether Temporal may have deliveries whose names are not hashed. */
  hasPlain: boolean
}

/** Reads it, and makes it where there is none: of several nodes that start at once, one does. An installation without sources is a
 *  new one, which has nothing in Temporal: it hashes at once.
 *  @param ring  newest first
 *  @throws StartError when no key of the ring opens it */
export async function ensureIdHashing(database: Database, ring: readonly EncryptionKey[]): Promise<IdHashing> {
  return database.transaction(async (tx) => {
    // Another node that makes it is waited for.
    await tx.query(
      `insert into id_hashing (begins_at, has_plain)
       select now() + case when is_old then make_interval(mins => $1) else interval '0' end, is_old
       from (select exists (select 1 from sources) as is_old) as installation
       on conflict do nothing`,
      [plainMinutes],
    )
    const [row] = await tx.query<{ begins_at: Date; has_plain: boolean }>('select begins_at, has_plain from id_hashing')
    const key = (await readKey(tx, ring)) ?? randomBytes(keyBytes).toString('base64')
    for (const one of ring)
      await tx.query('insert into id_hashing_keys (id, key_encrypted) values ($1, $2) on conflict do nothing', [
        one.id,
        createSecretBox([one]).seal(key),
      ])
    return {
      key: Buffer.from(key, 'base64'),
      beginsAt: row?.begins_at ?? new Date(0),
      hasPlain: row?.has_plain ?? true,
    }
  })
}

/** @returns undefined when there is none yet */
async function readKey(database: Queryable, ring: readonly EncryptionKey[]): Promise<string | undefined> {
  const rows = await database.query<{ sealed: string }>('select key_encrypted as sealed from id_hashing_keys')
  const readable = rows.find(({ sealed }) => ring.some(({ id }) => sealed.startsWith(`${id}:`))) ?? rows[0]
  return readable && createSecretBox(ring).open(readable.sealed)
}

/** Takes note that Temporal has no delivery any more whose names are not hashed. */
export async function noteNoPlain(database: Queryable): Promise<void> {
  await database.query('update id_hashing set has_plain = false')
}
