import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** Postrider's version, from the package's own description, which stands above `src` and above `dist/src`. */
export function packageVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const text = readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8')
      return z.object({ version: z.string() }).parse(JSON.parse(text)).version
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return 'unknown'
}
