import type { AudienceKind } from '../schemas/audience.ts'
import { MembershipError } from './membership-error.ts'

/** How rows of these columns become members: `userId` (or `user_id`), `value` of a computed trait, and `traits` or
 *  columns of their own. Absent cells are left out.
 *  @throws MembershipError when a column is missing */
export function columnsToMember(
  columns: readonly string[],
  kind: AudienceKind,
): (cells: readonly unknown[]) => Record<string, unknown> {
  const names = columns.map((column) => column.trim())
  const find = (...wanted: string[]): number => names.findIndex((name) => wanted.includes(name.toLowerCase()))
  const userId = find('userid', 'user_id')
  const value = kind === 'trait' ? find('value') : -1
  const traits = names.indexOf('traits')
  if (userId === -1) throw new MembershipError('there is no column userId')
  if (kind === 'trait' && value === -1) throw new MembershipError('there is no column value')
  const others = names
    .map((name, index) => ({ name, index }))
    .filter(({ index }) => index !== userId && index !== value && index !== traits)

  return (cells) => {
    const present = others.filter(({ index }) => cells[index] !== undefined && cells[index] !== null)
    const id = cells[userId]
    return {
      // A user id of digits is an id all the same; a bigint column is one too.
      userId: typeof id === 'number' || typeof id === 'bigint' || typeof id === 'boolean' ? String(id) : id,
      ...(value !== -1 && { value: cells[value] ?? null }),
      traits: {
        ...Object.fromEntries(present.map(({ name, index }) => [name, cells[index]])),
        ...(isObject(cells[traits]) && cells[traits]),
      },
    }
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
