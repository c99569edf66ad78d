/** The database port: SQL with parameters, on PostgreSQL or on the embedded PGlite alike. */

import type pg from 'pg'
import { connectionsOf } from './connections.ts'

export type SqlValue = string | number | boolean | bigint | Date | Buffer | null | SqlValue[]

/** Runs one statement and answers its rows. */
export interface Queryable {
  /** @throws Error when the database does not answer within the time that a statement may take */
  query<Row extends pg.QueryResultRow>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>
}

export interface Database extends Queryable {
  /** Runs `work` in one transaction: committed when it resolves, rolled back when it throws.
   *  Inside, only `tx` may be used: the embedded database has one session, and a second query would wait for ever. */
  transaction<Result>(work: (tx: Queryable) => Promise<Result>): Promise<Result>
  /** The same database for statements on whole tables, which may take long. */
  patient: Database
  /** Lets the statements under way end, within a bound. */
  close(): Promise<void>
}

/** A transaction as a database, for what makes transactions of its own: they become part of it. */
export const databaseIn = (tx: Queryable): Database => ({
  query: (...statement) => tx.query(...statement),
  transaction: (work) => work(tx),
  get patient() {
    return databaseIn(tx)
  },
  close: () => Promise.resolve(),
})

/** How long one statement may take, in milliseconds. */
export interface StatementLimits {
  ordinaryMs: number
  patientMs: number
}

/** Wraps a pool of connections. */
export function databaseOf(
  pool: pg.Pool,
  { ordinaryMs, patientMs }: StatementLimits,
  afterClose: () => Promise<void> = async () => {},
): Database {
  const connections = connectionsOf(pool)
  const withLimit = (limitMs: number): Pick<Database, 'query' | 'transaction'> => ({
    query: <Row extends pg.QueryResultRow>(sql: string, values?: readonly SqlValue[]) =>
      connections.use((run) => run<Row>(limitMs, sql, values)),
    async transaction(work) {
      const end = await connections.use(async (run) => {
        await run(limitMs, 'begin')
        try {
          const result = await work({ query: (sql, values) => run(limitMs, sql, values) })
          await run(limitMs, 'commit')
          return { result }
        } catch (error) {
          // A connection that cannot even roll back is broken and must leave the pool.
          await run(limitMs, 'rollback').catch(() => Promise.reject(error as Error))
          return { error }
        }
      })
      if ('error' in end) throw end.error
      return end.result
    },
  })
  const close = async (): Promise<void> => {
    await connections.close()
    await afterClose()
  }
  const patient: Database = {
    ...withLimit(patientMs),
    get patient() {
      return patient
    },
    close,
  }
  return { ...withLimit(ordinaryMs), patient, close }
}
