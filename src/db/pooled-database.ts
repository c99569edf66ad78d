/** The database port on a pool of connections, each statement with a time limit. */

import type pg from 'pg'
import { connectionsOf } from './connections.ts'
import type { ConnectionFigures, Database } from './database.ts'
import type { StatementNames } from './statement-names.ts'

/** How long one statement may take, in milliseconds. */
export interface StatementLimits {
  ordinaryMs: number
  patientMs: number
}

/** Wraps a pool of connections.
 *  @param names  of statements that come often, where the database is to keep these parsed and planned */
export function databaseOf(
  pool: pg.Pool,
  { ordinaryMs, patientMs }: StatementLimits,
  { names, afterClose = async () => {} }: { names?: StatementNames; afterClose?: () => Promise<void> } = {},
): Database {
  const connections = connectionsOf(pool, names)
  const withLimit = (limitMs: number): Pick<Database, 'query' | 'transaction'> => ({
    query: <Row extends pg.QueryResultRow>(...statement: Parameters<Database['query']>) =>
      connections.use((run) => run<Row>(limitMs, ...statement)),
    async transaction(work) {
      const end = await connections.use(async (run) => {
        await run(limitMs, 'begin')
        try {
          const result = await work({ query: (...statement) => run(limitMs, ...statement) })
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
