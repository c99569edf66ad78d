import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { checkpointOnce, reclaimOnce } from '../../src/db/reclaim-space.ts'
import { makeDataFolder } from '../support/app.ts'
import { until } from '../support/wait.ts'

const logger = pino({ level: 'error' })

it.for([
  ['in its own folder', 'short'],
  ['in a temporary one, where the path of its own is too long for a socket', 'long'.repeat(25)],
])('the embedded database has its socket %s, for its user alone', async ([, name = '']) => {
  const parent = await mkdtemp(join(tmpdir(), 'pglite-'))
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await rm(parent, { recursive: true })
  })
  const folder = join(parent, name)
  await rename(await makeDataFolder(), folder)
  const temporary = join(parent, 'tmp')
  await mkdir(temporary)
  vi.stubEnv('TMPDIR', temporary)

  const database = await openPglite(join(folder, 'pglite'), logger)
  expect(await database.query('select 1 as one')).toEqual([{ one: 1 }])
  const [made] = await readdir(temporary)
  expect(made !== undefined).toBe(name !== 'short')
  const socket = join(made === undefined ? join(folder, 'pglite') : join(temporary, made), '.s.PGSQL.5432')
  expect((await stat(socket)).mode & 0o777).toBe(0o600)
  await database.close()
  expect(await readdir(temporary)).toEqual([])
  await expect(stat(socket)).rejects.toThrow('ENOENT')
})

/** Tells the number of each file that is synced. */
const tellSyncs = `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { fsyncSync } = fs
  fs.fsyncSync = (descriptor) => {
    fsyncSync(descriptor)
    fs.writeSync(1, 'synced ' + fs.fstatSync(descriptor).ino + '\\n')
  }
  syncBuiltinESMExports()`

const writeOneRow = `
  const { pino } = await import(${JSON.stringify(import.meta.resolve('pino'))})
  const { openPglite } = await import(${JSON.stringify(new URL('../../src/db/pglite.ts', import.meta.url).href)})
  const database = await openPglite(process.argv[2], pino())
  await database.query('create table kept (value int)')
  console.log('before')
  await database.query('insert into kept values (1)')
  console.log('acknowledged')
  process.kill(process.pid, 'SIGKILL')`

it('what the embedded database acknowledges is synced to the disk, and there after a kill', async () => {
  const folder = await makeDataFolder()
  onTestFinished(() => rm(folder, { recursive: true }))
  const [path, program] = [join(folder, 'pglite'), join(folder, 'program.mjs')]
  await writeFile(program, writeOneRow)
  const preload = `data:text/javascript,${encodeURIComponent(tellSyncs)}`
  const { stdout, signal } = spawnSync(process.execPath, ['--import', 'tsx', '--import', preload, program, path], {
    encoding: 'utf8',
  })
  expect(signal).toBe('SIGKILL')
  const lines = stdout.split('\n')
  const synced = lines.slice(lines.indexOf('before'), lines.indexOf('acknowledged'))
  const log = join(path, 'pg_wal')
  const segments = await Promise.all((await readdir(log)).map(async (name) => (await stat(join(log, name))).ino))
  expect(synced.some((line) => segments.some((number) => line === `synced ${number}`))).toBe(true)

  const database = await openPglite(path, logger)
  expect(await database.query('select value from kept')).toEqual([{ value: 1 }])
  await database.close()
})

it('a table of the embedded database stays as large as its rows need, however many come and go', async () => {
  const database = await openPglite(join(await makeDataFolder(), 'pglite'), logger)
  onTestFinished(() => database.close())
  await database.query('create table queue (id bigint primary key, body text)')
  const sizeAfter = async (round: number): Promise<number> => {
    await database.query(
      `insert into queue select $1 * 10000 + n, repeat('x', 200) from generate_series(1, 10000) as n`,
      [round],
    )
    await database.query('delete from queue')
    // The database counts dead rows up to a second later.
    await until('its room is reclaimed', async () => (await reclaimOnce(database)).includes('queue'))
    const [row] = await database.query<{ size: string }>(`select pg_total_relation_size('queue') as size`)
    return Number(row?.size)
  }
  const sizes: number[] = []
  for (let round = 0; round < 5; round++) sizes.push(await sizeAfter(round))
  expect(Math.max(...sizes)).toBeLessThan(2 * (sizes[0] ?? 0))
})

describe('a statement that comes often', () => {
  const openWithNumbers = async (): Promise<Database> => {
    const database = await openPglite(join(await makeDataFolder(), 'pglite'), logger)
    onTestFinished(() => database.close())
    await database.query('create table numbers (number int primary key)')
    return database
  }
  const look = 'select number from numbers where number = $1'
  const kept = (database: Database) =>
    database.query<{ name: string; statement: string }>('select name, statement from pg_prepared_statements')

  it('is kept by the embedded database, and is run on the next connection, too, after one was lost', async () => {
    const database = await openWithNumbers()
    await database.query('insert into numbers values (7)')
    const look7 = () => database.query(look, [7], 'often')
    expect([await look7(), await look7()]).toEqual([[{ number: 7 }], [{ number: 7 }]])
    expect(await database.transaction((tx) => tx.query(look, [7], 'often'))).toEqual([{ number: 7 }])
    await database.query('select number + 1 from numbers where number = $1', [7])
    expect(await kept(database)).toEqual([{ name: expect.any(String) as string, statement: look }])

    await expect(database.query('select 1 / number from numbers where 1 / (number - 7) > $1', [1])).rejects.toThrow(
      'division by zero',
    )
    expect(await kept(database)).toEqual([])
    expect(await look7()).toEqual([{ number: 7 }])
    expect(await kept(database)).toHaveLength(1)
  })

  it('is planned anew as its table grows', async () => {
    const database = await openWithNumbers()
    // Only then does the database believe that the table has no rows.
    await database.query('vacuum numbers')
    const plan = async (): Promise<string> => {
      for (let time = 0; time < 10; time++) await database.query(look, [7], 'often')
      const [statement] = await kept(database)
      const rows = await database.query<{ 'QUERY PLAN': string }>(`explain execute ${statement?.name} (7)`)
      return rows.map((row) => row['QUERY PLAN']).join()
    }
    expect(await plan()).toContain('Seq Scan')
    await database.query('insert into numbers select generate_series(1, 100000)')
    await until('the plan reads the index', async () => (await plan()).includes('Index'))
  })
})

it('the write-ahead log of the embedded database begins anew before it is long', async () => {
  const { dataFolder, database } = await openWritable()
  for (let round = 0; round < 10; round++) {
    await database.query(`insert into written select repeat('x', 1000) from generate_series(1, 40000)`)
    await checkpointOnce(database, 50_000_000)
  }
  const [{ written = 0 } = {}] = await database.query<{ written: number }>(
    'select pg_total_relation_size($1::regclass)::int as written',
    ['written'],
  )
  expect(written).toBeGreaterThan(400_000_000)
  expect(await logBytes(dataFolder)).toBeLessThan(written / 2)
})

it('files of a write-ahead log that was long once are not all kept', async () => {
  const { dataFolder, database } = await openWritable()
  const written = async (): Promise<number> => {
    const [row] = await database.query<{ bytes: number }>(
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`,
    )
    return row?.bytes ?? 0
  }
  const before = await written()
  const files = 40
  for (let file = 0; file < files; file++) {
    await database.query(`insert into written values ('x')`)
    await database.query('select pg_switch_wal()')
  }
  // Of what the log has had, not of what it has: on a slow machine the database begins it anew meanwhile.
  expect((await written()) - before).toBeGreaterThanOrEqual((files - 1) * 16_777_216)
  await checkpointOnce(database, 50_000_000)
  expect(await logBytes(dataFolder)).toBeLessThanOrEqual(300 * 1_048_576)
})

async function logBytes(dataFolder: string): Promise<number> {
  const folder = join(dataFolder, 'pglite/pg_wal')
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async ({ name }) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** A database of its own, with a table to write to. */
async function openWritable() {
  const dataFolder = await makeDataFolder()
  onTestFinished(() => rm(dataFolder, { recursive: true }))
  const database = await openPglite(join(dataFolder, 'pglite'), logger)
  onTestFinished(() => database.close())
  await database.query('create table written (content text)')
  return { dataFolder, database }
}
