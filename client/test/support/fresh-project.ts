/** The package as npm publishes it, installed into an empty project. */

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const clientFolder = resolve(import.meta.dirname, '../..')

export interface FreshProject {
  folder: string
  /** What npm packed. */
  files: { path: string }[]
  /** Runs Node with these arguments in the project. */
  node(args: string[], env?: Record<string, string>): Promise<{ stdout: string; stderr: string }>
  /** The first example of the package's README. */
  readmeExample(): Promise<string>
  remove(): Promise<void>
}

/** Packs what was built and installs it, without any other package. */
export async function makeFreshProject(): Promise<FreshProject> {
  const folder = await mkdtemp(join(tmpdir(), 'project-'))
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await run('npm', pack, { cwd: clientFolder })
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[]
  if (packed === undefined) throw new Error(`npm packed nothing: ${stdout}`)
  await writeFile(join(folder, 'package.json'), '{ "name": "project", "private": true, "type": "module" }')
  const install = ['install', '--offline', '--no-audit', '--no-fund', join(folder, packed.filename)]
  await run('npm', install, { cwd: folder })
  return {
    folder,
    files: packed.files,
    node: (args, env = {}) => run(process.execPath, args, { cwd: folder, env: { PATH: process.env['PATH'], ...env } }),
    async readmeExample() {
      const readme = await readFile(join(folder, 'node_modules/@postrider/analytics/README.md'), 'utf8')
      const [, example] = /```js\n([\s\S]*?)```/.exec(readme) ?? []
      if (example === undefined) throw new Error('the README has no example')
      return example
    },
    remove: () => rm(folder, { recursive: true }),
  }
}
