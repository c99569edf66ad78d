import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { makePgliteFolder } from '../../src/db/pglite-folder.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { builtModule } from '../support/built-command.ts'

const built = await builtModule<{ makePgliteFolder: typeof makePgliteFolder }>('db/pglite-folder.js')

it.for([
  ['copied from the build', built.makePgliteFolder],
  ['made by a process when the sources run', makePgliteFolder],
] as const)(
  'a new embedded database is %s, has all tables and is for its user alone',
  { timeout: 120_000 },
  async ([, make]) => {
    const parent = await mkdtemp(join(tmpdir(), 'pglite-'))
    onTestFinished(() => rm(parent, { recursive: true }))
    const folder = join(parent, 'pglite')
    const before = process.memoryUsage().rss
    await make(folder)
    // A database made in this process takes 600 MB of it; what the test before left may grow meanwhile.
    expect(process.memoryUsage().rss - before).toBeLessThan(400_000_000)

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
