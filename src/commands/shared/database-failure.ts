import { CommandError } from './failure.ts'

/** Codes of connections that did not come about; SQLSTATE class 08 likewise. */
const unreachableCodes = /^(E[A-Z]+|08\w{3}|57P0\d)$/

/** What a fault of PostgreSQL means for the user: its message, never the URL with the password. */
export function databaseFailure(error: unknown): CommandError {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const { code = '', message = String(first) } = first as { code?: string; message?: string }
  const unreachable = unreachableCodes.test(code) || /timeout|terminated/i.test(message)
  return new CommandError(unreachable ? 'unreachable' : 'failed', `the database: ${message || code}`, { cause: error })
}
