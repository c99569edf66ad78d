import { databaseFailure as failureOf } from '../../db/failure.ts'
import { CommandError } from './failure.ts'

/** What a fault of PostgreSQL means for the user: its message, never the URL with the password. */
export function databaseFailure(error: unknown): CommandError {
  const { isAway, message } = failureOf(error)
  return new CommandError(isAway ? 'unreachable' : 'failed', `the database: ${message}`, { cause: error })
}
