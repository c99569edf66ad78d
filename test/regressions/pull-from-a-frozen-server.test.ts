/** Symptom: the sync of an audience whose membership is pulled from a PostgreSQL never came to an end.
 *  Cause: a server that stands still, as one that is being moved, neither answers nor says good-bye; only the server itself
 *  had a limit for the query, and the end of the connection had none.
 *  Consequence: each answer has a limit here too, and a connection is cut when the server does not take its end. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pullOverSql } from '../../src/audiences/pull-sql.ts'
import { createAddressGuard } from '../../src/delivery/guard-address.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'

const guard = { ...createAddressGuard(['127.0.0.0/8']), connect: () => undefined }

describe.skipIf(findPostgres() === undefined)('a membership from a PostgreSQL that stands still', () => {
  let server: PostgresServer
  beforeEach(async () => {
    server = await startPostgres()
  })
  afterEach(() => server.stop())

  /** Freezes the server at the first rows. @returns how many rows came */
  const pull = async (rows: number): Promise<number> => {
    const connectionString = `${await server.createDatabase()}?sslmode=disable`
    const query = `select 'u' || n as user_id from generate_series(1, ${rows}) as n`
    const options = { connectionString, query, statementTimeoutSeconds: 1, kind: 'audience' as const }
    let pulled = 0
    for await (const group of pullOverSql(options, guard, new AbortController().signal)) {
      if (pulled === 0) server.freeze()
      pulled += group.length
    }
    return pulled
  }

  it('is given up when no rows come any more', async () => {
    await expect(pull(100_000)).rejects.toThrow(/127\.0\.0\.1 did not answer within \d+ ms/)
  })

  it('is whole when the server stands still after its last row', async () => {
    expect(await pull(10)).toBe(10)
  })
})
