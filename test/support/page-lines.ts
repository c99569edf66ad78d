/** The lines of the pages that are meant for a shell. */

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

/** Paths of the pages, below the repository. */
export const pages = ['.', 'api', 'cli', 'client', 'docs'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md')
    .map((name) => join(folder, name)),
)

/** What stands alone in an indented block, and is what a program says, a formula, or a part of a file. */
const noCalls = /^(Filters left it out: |The mapping could not be applied: |processor time of an event = |external:$)/

/** All lines of blocks of code in a shell's language, or in none, with the lines that they go on in. */
export function linesOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/\\\n\s*/g, '')
  const fenced = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, language = '']) => ['sh', 'bash', 'console'].includes(language))
    .map(([, , block = '']) => block)
  const indented = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/^ {4}(?=\S).*$/gm)].map(([line]) => line)
  return [...fenced, ...indented]
    .join('\n')
    .split('\n')
    .map((line) => line.replace(/^[\s$]+/, ''))
    .filter((line) => line !== '' && !noCalls.test(line))
}

/** Those of all pages that begin with a word. */
export const linesThatBegin = (word: string): string[] =>
  pages.flatMap(linesOf).filter((line) => line.startsWith(`${word} `))
