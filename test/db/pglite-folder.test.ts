import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { builtUrl } from '../support/built-command.ts'

const makers = [
  ['copied from the build', builtUrl('db/pglite-folder.js')],
  ['made by a process when the sources run', new URL('../../src/db/pglite-folder.ts', import.meta.url)],
] as const

/** Makes the folder in a process that does nothing else, so that what it takes of the memory can be told.
 *  @returns bytes by which the memory of that process grew */
async function growthOfMaking(module: URL, folder: string): Promise<number> {
  const program = `
    const { makePgliteFolder } = await import(${JSON.stringify(module.href)})
    const before = process.memoryUsage.rss()
    await makePgliteFolder(${JSON.stringify(folder)})
    console.log(process.memoryUsage.rss() - before)`
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return Number(stdout)
}

it.for(makers)(
  'a new embedded database is %s, has all tables and is for its user alone',
  { timeout: 120_000 },
  async ([, module]) => {
    const parent = await mkdtemp(join(tmpdir(), 'pglite-'))
    onTestFinished(() => rm(parent, { recursive: true }))
    const folder = join(parent, 'database')
    // A process that makes the database in itself grows by 600 MB.
    expect(await growthOfMaking(module, folder)).toBeLessThan(100_000_000)

    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const modes = await Promise.all(
      entries.map(async (entry) => (await stat(join(entry.parentPath, entry.name))).mode & 0o077),
    )
    expect(modes.filter((open) => open !== 0)).toEqual([])
    expect(modes.length).toBeGreaterThan(100)
    const database = await openPglite(folder, pino({ level: 'error' }))
    try {
      expect(await migrate(database)).toEqual([])
    } finally {
      await database.close()
    }
  },
)
