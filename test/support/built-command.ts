/** The built program: the entry that its users run, and modules of it. */

import { fileURLToPath } from 'node:url'

const built = (path: string): URL => new URL(`../../dist/src/${path}`, import.meta.url)

export const builtCommand = fileURLToPath(built('postrider.cjs'))

/** A module of the build. @param path  below `src`, ending in `.js` */
export const builtModule = async <Module>(path: string): Promise<Module> => (await import(built(path).href)) as Module
