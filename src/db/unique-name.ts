/** Names that no two have: only callers that ask for it are held to it, since names are free otherwise. */

import { AppError } from '../errors.ts'
import type { Queryable } from './database.ts'

/** What has names, and SQL of those that count. */
const named = {
  source: 'select id, name from sources',
  destination: 'select id, name from destinations',
  audience: 'select id, name from audiences where deleted_at is null',
} as const

/** Any number that no other program on the same database uses for its advisory lock. */
const advisoryLock = 7_766_351_003

export interface NameRule {
  /** Whether a name that another one has is refused; one that stays as it is never is. */
  uniqueName?: boolean
}

/** Holds a name to the rule; nothing is held to it when the name is not given. Of two transactions at once the later one waits for the
 *  end of the first.
 *  @param id  of the one that is to have the name
 *  @throws AppError conflict when another one has it */
export async function holdToNameRule(
  tx: Queryable,
  kind: keyof typeof named,
  { id, name }: { id: string; name?: string | undefined },
  { uniqueName = false }: NameRule,
): Promise<void> {
  if (!uniqueName || name === undefined) return
  await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock])
  const [other] = await tx.query(
    `select from (${named[kind]}) as named where name = $1 and id <> $2
       and not exists (select from (${named[kind]}) as present where id = $2 and name = $1) limit 1`,
    [name, id],
  )
  if (other !== undefined)
    throw new AppError('conflict', `name: another ${kind} has this name: choose another one`, { path: 'name' })
}
