/** Temporal's own server and SQL tool, built from their Go module and kept in the per-user cache. */
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import envPaths from 'env-paths'

/** The server that the embedded one (Temporal CLI 1.5.1) contains, and that docker-compose.yml runs. */
export const TEMPORAL_SERVER_VERSION = '1.29.1'

const MODULE = 'go.temporal.io/server'
/** Package of the module, and the name that Temporal gives to its program. */
const PROGRAMS = { 'cmd/server': 'temporal-server', 'cmd/tools/sql': 'temporal-sql-tool' }
const BUILD_LIMIT_MS = 20 * 60_000

/** The folder with `temporal-server` and `temporal-sql-tool`. Builds them when the cache does not have them: some
 *  4 minutes on 2 cores, 130 MB.
 *  @param report  gets one line before a build
 *  @throws Error when Go is not on `PATH`, or with the compiler's words when the build fails */
export async function provideTemporalServerBinaries(report: (line: string) => void): Promise<string> {
  const { cache } = envPaths('postrider', { suffix: '' })
  const folder = join(cache, `temporal-server-${TEMPORAL_SERVER_VERSION}-${platform()}-${arch()}`)
  if (Object.values(PROGRAMS).every((name) => isExecutable(join(folder, name)))) return folder

  report(`Building the Temporal server ${TEMPORAL_SERVER_VERSION} with Go; this takes some minutes, once.`)
  await mkdir(cache, { recursive: true })
  const buildFolder = await mkdtemp(join(cache, 'building-'))
  try {
    const packages = Object.keys(PROGRAMS).map((path) => `${MODULE}/${path}@v${TEMPORAL_SERVER_VERSION}`)
    await promisify(execFile)('go', ['install', '-ldflags=-s -w', ...packages], {
      cwd: buildFolder,
      env: { ...process.env, GOBIN: buildFolder },
      timeout: BUILD_LIMIT_MS,
    })
    await mkdir(folder, { recursive: true })
    for (const [path, name] of Object.entries(PROGRAMS)) {
      // Renaming is atomic: another build at the same time does no harm.
      await rename(join(buildFolder, path.slice(path.lastIndexOf('/') + 1)), join(folder, name))
    }
  } finally {
    await rm(buildFolder, { recursive: true, force: true })
  }
  return folder
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
