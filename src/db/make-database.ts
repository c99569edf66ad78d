/** `node make-database.js <folder>`: makes an embedded database with all tables, in a process that ends. Making one takes
 *  hundreds of megabytes, which a process that goes on would keep. */

import process from 'node:process'
import { PGlite } from '@electric-sql/pglite'
import type { QueryResultRow } from 'pg'
import { databaseIn, type Queryable } from './database.ts'
import { migrate } from './migrate.ts'

const pglite = await PGlite.create(process.argv[2])
const session: Queryable = {
  async query<Row extends QueryResultRow>(sql: string, values?: readonly unknown[]) {
    // Only statements without parameters may be several in one text.
    if (values !== undefined) return (await pglite.query<Row>(sql, [...values])).rows
    return (await pglite.exec(sql)).flatMap(({ rows }) => rows as Row[])
  },
}
await migrate(databaseIn(session))
await pglite.close()
