/** What a failure of the database means. */

/** Codes of connections that did not come about or ended, of a server that starts, stops or has no connection left. */
const awayCodes = /^(E[A-Z]+|08\w{3}|53\w{3}|57P0\d)$/

/** Judges an error of the database.
 *  @returns whether it may pass by itself, and PostgreSQL's own words: they have no password */
export function databaseFailure(error: unknown): { isAway: boolean; message: string } {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const { code = '', message = String(first) } = first as { code?: string; message?: string }
  return { isAway: awayCodes.test(code) || /timeout|terminated/i.test(message), message: message || code }
}

/** Whether somebody else wrote the same at the same time: PostgreSQL's "unique_violation". */
export const isConflict = (error: unknown): boolean => (error as { code?: string }).code === '23505'
