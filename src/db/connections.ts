/** The connections of a pool, each statement with a time limit: a database that hangs, or went away without a word, must
 *  hold up nobody for longer than that, and nobody at all once it is back. */

import type pg from 'pg'
import type { Repetition, SqlValue } from './database.ts'
import type { StatementNames } from './statement-names.ts'

/** How long a pool that is closed waits for statements under way and for the server's good-bye, in milliseconds. */
const closeLimitMs = 5_000

/** Runs one statement.
 *  @throws Error when the database does not answer in time; the connection is lost then */
export type Run = <Row extends pg.QueryResultRow>(
  limitMs: number,
  sql: string,
  values?: readonly SqlValue[],
  repetition?: Repetition,
) => Promise<Row[]>

/** The database did not answer in time. */
class SilentDatabaseError extends Error {
  override name = 'SilentDatabaseError'
  code = 'ETIMEDOUT'

  constructor(limitMs: number) {
    super(`the database did not answer within ${limitMs} ms`)
  }
}

export interface Connections {
  /** Lends a connection for as long as `work` takes; when `work` throws, nobody uses it any more. */
  use<Result>(work: (run: Run) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** @param names  of statements that come often; undefined: these are parsed and planned each time, as all others */
export function connectionsOf(pool: pg.Pool, names?: StatementNames): Connections {
  const connectedAt = new Map<pg.PoolClient, number>()
  pool.on('connect', (client) => connectedAt.set(client, performance.now()))
  pool.on('remove', (client) => connectedAt.delete(client))
  /** When a statement last got no answer: connections that were made before it most likely lead nowhere any more. */
  let silentAt = -Infinity

  const take = async (): Promise<pg.PoolClient> => {
    for (;;) {
      const client = await pool.connect()
      if ((connectedAt.get(client) ?? Infinity) > silentAt) return client
      client.release(true)
      cut(client)
    }
  }

  const runOn =
    (client: pg.PoolClient): Run =>
    async <Row extends pg.QueryResultRow>(
      limitMs: number,
      sql: string,
      values: readonly SqlValue[] = [],
      repetition: Repetition = 'seldom',
    ) => {
      let afterReads: NodeJS.Immediate | undefined
      const timer = setTimeout(() => {
        // A process that stood still itself first reads the answers that came meanwhile.
        afterReads = setImmediate(() => {
          silentAt = performance.now()
          cut(client, new SilentDatabaseError(limitMs))
        })
      }, limitMs)
      try {
        const name = repetition === 'often' ? names?.of(sql) : undefined
        return (await client.query<Row>({ text: sql, values: [...values], ...(name !== undefined && { name }) })).rows
      } finally {
        clearTimeout(timer)
        clearImmediate(afterReads)
      }
    }

  return {
    async use(work) {
      const client = await take()
      // The statement under way fails as well. Without a listener the process would end.
      const onError = (): void => undefined
      client.on('error', onError)
      let isSound = false
      try {
        const result = await work(runOn(client))
        isSound = true
        return result
      } finally {
        client.off('error', onError)
        client.release(!isSound)
      }
    },
    async close() {
      setTimeout(() => [...connectedAt.keys()].forEach((client) => cut(client)), closeLimitMs).unref()
      await pool.end()
    },
  }
}

/** Ends a connection without a word to the server, which may not listen. */
const cut = ({ connection }: pg.PoolClient, reason?: Error): void => void connection.stream.destroy(reason)
