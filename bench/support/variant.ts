/** A copy of the built program in which something is left out, so that a bench can tell what that costs. */

import { access, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Variant {
  /** The entry of the program. */
  program: string
  remove(): Promise<void>
}

/** @param name  of the folder beside `dist`, after `dist-`
 *  @param files  what stands in files of the build instead, by their paths in `dist`; packages in `node_modules` go before those installed
 *  @throws Error when a file of the program is not there: it has another name by now, and nothing would be left out */
export async function makeVariant(name: string, files: Readonly<Record<string, string>>): Promise<Variant> {
  const folder = join(root, `dist-${name}`)
  await rm(folder, { recursive: true, force: true })
  await cp(join(root, 'dist'), folder, { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path)
    if (!path.startsWith('node_modules/')) await access(file)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return {
    program: join(folder, 'src/postrider.cjs'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
