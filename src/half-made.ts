/** What is made in many steps and cannot be continued when it was cut off, such as a database: a mark stands beside it from
 *  before the first step until after the last, and what has a mark is made anew. */

import { access, rm, writeFile } from 'node:fs/promises'

/** Before it is opened: removes what was left half made, and marks what is yet to be made.
 *  @param files  all that belongs to it; the thing itself unless given
 *  @returns whether it is yet to be made */
export async function beginMaking(path: string, files: readonly string[] = [path]): Promise<boolean> {
  if ((await exists(path)) && !(await exists(markOf(path)))) return false
  await writeFile(markOf(path), '', { mode: 0o600 })
  for (const file of files) await rm(file, { recursive: true, force: true })
  return true
}

/** It is made, and must never be removed again: called before anything is kept in it. */
export const finishMaking = (path: string): Promise<void> => rm(markOf(path), { force: true })

const markOf = (path: string): string => `${path}.unfinished`

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
