/** The built program: the entry that its users run, and modules of it. */

import { fileURLToPath } from 'node:url'
import { baselineWasm } from './baseline-wasm.ts'

/** Where a file of the build is. @param path  below `src` */
export const builtUrl = (path: string): URL => new URL(`../../dist/src/${path}`, import.meta.url)

export const builtCommand = fileURLToPath(builtUrl('postrider.cjs'))

/** What Node is given to run it in a test; the command's own arguments follow. */
export const commandInTest = [...baselineWasm, builtCommand]

/** A module of the build. @param path  below `src`, ending in `.js` */
export const builtModule = async <Module>(path: string): Promise<Module> =>
  (await import(builtUrl(path).href)) as Module
