/** Names of statements that come many times a second. PostgreSQL keeps a statement that has a name parsed and planned for as long as the
 *  session lasts; of the 3 to 6 ms that a short one takes of the embedded database, 2 to 3 are parsing and planning. */

/** Statements that have names; further ones are run without. */
const maxNames = 100

export interface StatementNames {
  /** @returns the same name for the same statement; undefined when there are too many statements */
  of(sql: string): string | undefined
}

export function createStatementNames(): StatementNames {
  const names = new Map<string, string>()
  return {
    of(sql) {
      const name = names.get(sql) ?? (names.size < maxNames ? `often_${names.size}` : undefined)
      if (name !== undefined) names.set(sql, name)
      return name
    },
  }
}
