/** Programs that tests need and only Go builds, kept in the per-user cache. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import envPaths from 'env-paths'
import { isExecutable } from './executable.ts'

const BUILD_LIMIT_MS = 20 * 60_000

export interface GoPrograms {
  /** Name and version, also of their folder in the cache. */
  name: string
  version: string
  /** Package of each program, and what it is to be called. */
  packages: Record<string, string>
  /** Gets one line before a build. */
  report: (line: string) => void
}

/** The folder with the programs. Builds them with `go install` when the cache does not have them: some minutes on 2 cores.
 *  @throws Error when Go is not on `PATH`, or with the compiler's words when the build fails */
export async function provideGoPrograms({ name, version, packages, report }: GoPrograms): Promise<string> {
  const { cache } = envPaths('postrider', { suffix: '' })
  const folder = join(cache, `${name}-${version}-${platform()}-${arch()}`)
  if (Object.values(packages).every((program) => isExecutable(join(folder, program)))) return folder

  report(`Building ${name} ${version} with Go; this takes some minutes, once.`)
  await mkdir(cache, { recursive: true })
  const buildFolder = await mkdtemp(join(cache, 'building-'))
  try {
    const wanted = Object.keys(packages).map((path) => `${path}@v${version}`)
    await promisify(execFile)('go', ['install', '-ldflags=-s -w', ...wanted], {
      cwd: buildFolder,
      env: { ...process.env, GOBIN: buildFolder },
      timeout: BUILD_LIMIT_MS,
    })
    await mkdir(folder, { recursive: true })
    for (const [path, program] of Object.entries(packages)) {
      // Renaming is atomic: another build at the same time does no harm.
      await rename(join(buildFolder, path.slice(path.lastIndexOf('/') + 1)), join(folder, program))
    }
  } finally {
    await rm(buildFolder, { recursive: true, force: true })
  }
  return folder
}
