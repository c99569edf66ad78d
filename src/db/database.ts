/** The database port: SQL with parameters, on PostgreSQL or on the embedded PGlite alike. */

import type pg from 'pg'

export type SqlValue = string | number | boolean | bigint | Date | Buffer | null | SqlValue[]

/** `often`: the statement comes many times a second, in a few wordings. The embedded database keeps it parsed and planned; PostgreSQL,
 *  which does both in a fraction of a millisecond, may stand behind a pooler that knows no such statements. */
export type Repetition = 'seldom' | 'often'

/** Runs one statement and answers its rows. */
export interface Queryable {
  /** @throws Error when the database does not answer within the time that a statement may take */
  query<Row extends pg.QueryResultRow>(
    sql: string,
    values?: readonly SqlValue[],
    repetition?: Repetition,
  ): Promise<Row[]>
}

export interface Database extends Queryable {
  /** Runs `work` in one transaction: committed when it resolves, rolled back when it throws.
   *  Inside, only `tx` may be used: the embedded database has one session, and a second query would wait for ever. */
  transaction<Result>(work: (tx: Queryable) => Promise<Result>): Promise<Result>
  /** The same database for statements on whole tables, which may take long. */
  patient: Database
  /** How the connections of this node do now. */
  connections(): ConnectionFigures
  /** Lets the statements under way end, within a bound. */
  close(): Promise<void>
}

/** Connections to the database, and who waits for one. */
export interface ConnectionFigures {
  /** Connections on which a statement or transaction is under way. */
  busy: number
  idle: number
  /** Callers that wait for a connection. */
  waiting: number
}

/** A transaction as a database, for what makes transactions of its own: they become part of it. */
export const databaseIn = (tx: Queryable): Database => ({
  query: (...statement) => tx.query(...statement),
  transaction: (work) => work(tx),
  get patient() {
    return databaseIn(tx)
  },
  connections: () => ({ busy: 1, idle: 0, waiting: 0 }),
  close: () => Promise.resolve(),
})
