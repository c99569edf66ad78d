import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openPglite } from '../../src/db/pglite.ts'
import { makeDataFolder } from '../support/app.ts'

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
