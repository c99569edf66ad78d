import { Client } from 'pg'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findPostgres, startPostgres } from './postgres.ts'
import type { PostgresServer } from './postgres.ts'

describe.skipIf(findPostgres() === undefined)('the PostgreSQL server of the tests', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.stop())

  it('gives every caller an empty database of its own', async () => {
    const urls = await Promise.all([server.createDatabase(), server.createDatabase()])
    expect(new Set(urls).size).toBe(2)
    for (const url of urls) {
      const client = new Client({ connectionString: url })
      await client.connect()
      await client.query('create table only_here (id int)')
      const { rows } = await client.query<{ count: string }>(
        `select count(*) from pg_tables where tablename = 'only_here'`,
      )
      await client.end()
      expect(rows).toEqual([{ count: '1' }])
    }
  })

  it('is gone soon after the test run was killed hard', async () => {
    const run = spawn(
      process.execPath,
      [
        '--import',
        'tsx',
        '-e',
        `import('./test/support/postgres.ts').then(async ({ startPostgres }) => {
        console.log((await startPostgres()).pid)
        setInterval(() => {}, 1000)
      })`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    onTestFinished(() => void run.kill('SIGKILL'))
    const [line] = (await once(run.stdout, 'data')) as [Buffer]
    const pid = Number(line.toString())
    expect(isRunning(pid)).toBe(true)
    run.kill('SIGKILL')
    await expect.poll(() => isRunning(pid), { timeout: 60_000, interval: 50 }).toBe(false)
  })
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
