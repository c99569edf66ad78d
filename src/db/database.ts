/** The database port: SQL with parameters, on PostgreSQL or on the embedded PGlite alike. */

import type pg from 'pg'

export type SqlValue = string | number | boolean | bigint | Date | Buffer | null | SqlValue[]

/** Runs one statement and answers its rows. */
export interface Queryable {
  query<Row extends pg.QueryResultRow>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>
}

export interface Database extends Queryable {
  /** Runs `work` in one transaction: committed when it resolves, rolled back when it throws.
   *  Inside, only `tx` may be used: the embedded database has one session, and a second query would wait for ever. */
  transaction<Result>(work: (tx: Queryable) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** Wraps a pool of connections. */
export function databaseOf(pool: pg.Pool, afterClose: () => Promise<void> = async () => {}): Database {
  return {
    query: (sql, values) => rowsOf(pool, sql, values),
    async transaction(work) {
      const client = await pool.connect()
      let failure: Error | undefined
      try {
        await client.query('begin')
        const result = await work({ query: (sql, values) => rowsOf(client, sql, values) })
        await client.query('commit')
        return result
      } catch (error) {
        // A connection that cannot even roll back is broken and must leave the pool.
        await client.query('rollback').catch((rollbackError: Error) => (failure = rollbackError))
        throw error
      } finally {
        client.release(failure)
      }
    },
    async close() {
      await pool.end()
      await afterClose()
    },
  }
}

async function rowsOf<Row extends pg.QueryResultRow>(
  connection: pg.Pool | pg.PoolClient,
  sql: string,
  values: readonly SqlValue[] = [],
): Promise<Row[]> {
  const { rows } = await connection.query<Row>(sql, [...values])
  return rows
}
