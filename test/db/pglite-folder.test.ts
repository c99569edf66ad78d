import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { beforeAll, expect, it } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { makePgliteFolder } from '../../src/db/pglite-folder.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { builtModule } from '../support/built-command.ts'

const built = await builtModule<{ makePgliteFolder: typeof makePgliteFolder }>('db/pglite-folder.js')

const makers = [
  ['copied from the build', built.makePgliteFolder],
  ['made by a process when the sources run', makePgliteFolder],
] as const

interface Made {
  folder: string
  /** Bytes by which the memory of this process grew. */
  grew: number
}

const made = new Map<string, Made>()

// All are made before one is opened: a database that this process had open makes it grow for seconds afterwards.
beforeAll(async () => {
  const parent = await mkdtemp(join(tmpdir(), 'pglite-'))
  for (const [way, make] of makers) {
    const folder = join(parent, `pglite-${made.size}`)
    const before = process.memoryUsage().rss
    await make(folder)
    made.set(way, { folder, grew: process.memoryUsage().rss - before })
  }
  return () => rm(parent, { recursive: true })
}, 120_000)

it.for(makers)(
  'a new embedded database is %s, has all tables and is for its user alone',
  { timeout: 120_000 },
  async ([way]) => {
    const { folder, grew } = made.get(way) ?? expect.fail('it was not made')
    // A database made in this process takes 600 MB of it.
    expect(grew).toBeLessThan(200_000_000)

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
