/** The version before this one as a program: its sources out of the repository's history, on the packages of this one. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { baselineWasm } from '../support/baseline-wasm.ts'

const root = resolve(import.meta.dirname, '../..')

/** The last state of version 0.1.0. */
const formerCommit = '14e2d58c836c44f9ece13e052b1f8bd502adb726'

export interface FormerVersion extends AsyncDisposable {
  /** What Node is given to run its command; the command's own arguments follow. */
  program: string[]
}

/** Runs from its sources, which takes no build: tsx and Temporal's bundler translate them at its start, in some seconds.
 *  @throws Error when the repository has no such commit, as in a shallow clone */
export async function checkOutFormerVersion(): Promise<FormerVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-former-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const archive = join(folder, 'sources.tar')
    const parts = ['package.json', 'tsconfig.json', 'src', 'workflows', 'activities']
    await promisify(execFile)('git', ['archive', `--output=${archive}`, formerCommit, '--', ...parts], { cwd: root })
    await promisify(execFile)('tar', ['-xf', archive], { cwd: folder })
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  } catch (cause) {
    await remove()
    throw new Error('the former version is not in the history of this clone: fetch all of it (git fetch --unshallow)', {
      cause,
    })
  }
  return {
    program: [...baselineWasm, '--import', import.meta.resolve('tsx'), join(folder, 'src/postrider.cts')],
    [Symbol.asyncDispose]: remove,
  }
}
