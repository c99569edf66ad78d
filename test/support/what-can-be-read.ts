/** All that can be read of what Temporal and a database hold, with the key ring and with the keys that the database has. */

import { EncryptionKeysSchema } from '../../src/config.ts'
import type { Database } from '../../src/db/database.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { opened } from '../../src/temporal/opened.ts'
import { createSealedMessages } from '../../src/temporal/sealed-messages.ts'
import { createSealedPayloads } from '../../src/temporal/sealed-payloads.ts'
import { encryptionKeys } from './sealed-payloads.ts'
import { textsIn, whatTemporalHolds } from './what-temporal-holds.ts'

/** A text, with all in it opened that the key ring opens with the help of the database. */
async function read(database: Database, text: string, ring: string): Promise<string> {
  const secrets = createSecretBox(EncryptionKeysSchema.parse(ring))
  const rows = await database.query<{ id: string; sealed: string }>('select id, key_encrypted as sealed from user_keys')
  const keys = new Map(rows.map(({ id, sealed }) => [id, Buffer.from(secrets.open(sealed), 'base64')]))
  const messages = createSealedMessages()
  messages.use({
    ofUsers: async () => undefined,
    async byIds(ids) {
      const found = ids.flatMap((id) => {
        const key = keys.get(id)
        return key === undefined ? [] : [{ id, key }]
      })
      return found.length === ids.length ? found : undefined
    },
  })
  const sealed = text.match(/\bkey_[0-9a-f]{20}(?:,key_[0-9a-f]{20})*:[\w+/=]+/g) ?? []
  const open = await Promise.all(sealed.map((one) => messages.open(one)))
  return [text, ...open.map((one) => JSON.stringify(one))].join('\n')
}

/** @param ring  key ring of the nodes; that of tests unless given */
export async function inTemporal(database: Database, namespace: string, ring = encryptionKeys): Promise<string> {
  const held = await whatTemporalHolds(namespace)
  const payloads = createSealedPayloads(EncryptionKeysSchema.parse(ring))
  return read(database, textsIn(held.map(({ answers }) => opened(payloads, answers))), ring)
}

/** All rows of all tables, as text. */
export async function inDatabase(database: Database, ring = encryptionKeys): Promise<string> {
  const tables = await database.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
  )
  const rows = await Promise.all(
    tables.map(({ name }) => database.query<{ row: string }>(`select t::text as row from ${name} t`)),
  )
  return read(database, rows.flatMap((ofOne) => ofOne.map(({ row }) => row)).join('\n'), ring)
}
