import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { openTcpGate } from '../support/tcp-gate.ts'
import { until } from '../support/wait.ts'

const silent = /^the database did not answer within 500 ms$/

/** Connections that a node makes at most. */
const maxConnections = 10

describe.skipIf(findPostgres() === undefined)('a PostgreSQL that fails at the wrong moment', () => {
  let server: PostgresServer
  let url: string

  beforeAll(async () => {
    server = await startPostgres()
    url = await server.createDatabase()
  })
  afterAll(() => server.stop())

  function open(to = url): Database {
    const database = openPostgres(to, pino({ level: 'silent' }), { ordinaryMs: 500, patientMs: 60_000 })
    onTestFinished(() => database.close())
    return database
  }

  const select = (database: Database, values: number) =>
    Promise.all(Array.from({ length: values }, () => database.query('select pg_sleep(0.01)')))

  it('ends a connection inside a transaction: the transaction fails, and the process lives', async () => {
    const database = open()
    const [, other] = [await select(database, 2), open()]
    // An event `error` that nobody listens to is an exception that nobody catches, and fails the whole run.
    await expect(
      database.transaction(async (tx) => {
        const [row] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
        await other.query('select pg_terminate_backend($1)', [row?.pid ?? 0])
        await until('the connection is gone', async () => {
          const left = await other.query('select 1 from pg_stat_activity where pid = $1', [row?.pid ?? 0])
          return left.length === 0
        })
        await tx.query('select 1')
      }),
    ).rejects.toThrow()
    expect(await database.query('select 1 as one')).toEqual([{ one: 1 }])
  })

  it('rolls back, and goes on with the same connection, when the work of a transaction throws', async () => {
    const database = open()
    await database.query('create table kept (value int)')
    const pid = async (): Promise<unknown> => database.query('select pg_backend_pid()')
    const before = await pid()
    const fault = new Error('not today')
    await expect(
      database.transaction(async (tx) => {
        await tx.query('insert into kept values (1)')
        throw fault
      }),
    ).rejects.toBe(fault)
    expect(await database.query('select value from kept')).toEqual([])
    expect(await pid()).toEqual(before)
  })

  it('freezes: statements and transactions fail in time, and all go through once it is back', async () => {
    const database = open()
    await select(database, maxConnections)
    server.freeze()
    onTestFinished(() => server.thaw())
    const statements = Array.from({ length: maxConnections }, () => database.query('select 1'))
    const answers = await Promise.all(statements.map((one) => one.catch((error: Error) => error.message)))
    expect(answers).toEqual(answers.map(() => expect.stringMatching(silent) as string))
    server.thaw()
    await select(database, 2 * maxConnections)
  })

  it('is taken over without a word: no more than one statement waits on the connections of before', async () => {
    const { port, host, user, password } = server
    const gate = await openTcpGate(host, port)
    onTestFinished(() => gate.close())
    const database = open(`postgres://${user}:${password}@127.0.0.1:${gate.port}/${new URL(url).pathname.slice(1)}`)
    await select(database, maxConnections)
    gate.silence()
    await expect(database.query('select 1')).rejects.toThrow(silent)
    for (let turn = 0; turn < maxConnections; turn++) await database.query('select 1')
  })

  it('has patience where it was asked for, and ends what nobody waits for any more', async () => {
    const database = open()
    expect(await database.patient.query('select 1 as one from pg_sleep(1)')).toEqual([{ one: 1 }])
    await expect(database.query(`select pg_sleep(600), 'abandoned'`)).rejects.toThrow(silent)
    await until('the abandoned statement has ended', async () => {
      const left = await database.query(
        `select 1 from pg_stat_activity where query like '%abandoned%' and pid <> pg_backend_pid()`,
      )
      return left.length === 0
    })
  })

  it('takes the locks of a transaction that stands still: others go on, and it fails as a whole', async () => {
    const [database, other] = [open(), open()]
    await database.query('create table locked (value int)')
    await database.query('insert into locked values (1)')
    let goOn = (): void => undefined
    const standstill = new Promise<void>((resolve) => (goOn = resolve))
    const still = database.transaction(async (tx) => {
      await tx.query('update locked set value = 2')
      await standstill
      await tx.query('update locked set value = 3')
    })
    const refused = expect(still).rejects.toThrow()
    await until('another one has the lock', () =>
      other.query('update locked set value = 10').then(
        () => true,
        () => false,
      ),
    )
    goOn()
    await refused
    expect(await other.query('select value from locked')).toEqual([{ value: 10 }])
  })

  it('is closed in time although it hangs', async () => {
    const database = openPostgres(url, pino({ level: 'silent' }))
    await select(database, 2)
    server.freeze()
    onTestFinished(() => server.thaw())
    const left = database.query('select 1').catch((error: Error) => error.message)
    await setImmediate()
    await database.close()
    expect(await left).toMatch(/^Connection terminated/)
  })
})
