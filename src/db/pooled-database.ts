/** The database port on a pool of connections, each statement with a time limit. */

import type pg from 'pg'
import { connectionsOf } from './connections.ts'
import type { ConnectionFigures, Database, SqlValue } from './database.ts'

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
  const figures = (): ConnectionFigures => ({
    busy: pool.totalCount - pool.idleCount,
    idle: pool.idleCount,
    waiting: pool.waitingCount,
  })
  const patient: Database = {
    ...withLimit(patientMs),
    get patient() {
      return patient
    },
    connections: figures,
    close,
  }
  return { ...withLimit(ordinaryMs), patient, connections: figures, close }
}
