/** Gets Deno and Bun from the npm registry, once, into the user's cache folder. */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import envPaths from 'env-paths'
import type { TestProject } from 'vitest/node'

/** The versions that the README names. */
const versions = { deno: '2.9.6', bun: '1.4.5' }

declare module 'vitest' {
  interface ProvidedContext {
    /** Paths of the programs. */
    runtimes: Record<keyof typeof versions, string>
  }
}

export default async function setup(project: TestProject): Promise<void> {
  const wanted = Object.entries(versions).map(([name, version]) => `${name}@${version}`)
  const { cache } = envPaths('postrider', { suffix: '' })
  const folder = join(cache, `runtimes-${wanted.join('-')}-${platform()}-${arch()}`)
  if (!existsSync(folder)) {
    console.log(`Getting ${wanted.join(' and ')}, once, some 200 MB`)
    await mkdir(cache, { recursive: true })
    const incoming = await mkdtemp(join(cache, 'incoming-'))
    try {
      await promisify(execFile)('npm', ['install', '--prefix', incoming, '--no-audit', '--no-fund', ...wanted])
      // Atomic: another one that has it first does no harm.
      await rename(incoming, folder)
    } finally {
      await rm(incoming, { recursive: true, force: true })
    }
  }
  const path = (name: string): string => join(folder, 'node_modules/.bin', name)
  project.provide('runtimes', { deno: path('deno'), bun: path('bun') })
}
