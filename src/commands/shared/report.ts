/** Tells how a command ended: a line for the user, and the exit code. */

import { CommanderError } from 'commander'
import { StartError } from '../../errors.ts'
import { packageVersion } from '../../package-version.ts'
import { CommandError, exitCodes, reportFailure, usageError } from './failure.ts'

/** Tells of what a command threw, on standard error.
 *  @returns the exit code */
export function report(error: unknown, isJson: boolean): number {
  if (error instanceof CommandError) return reportFailure(error, isJson)
  // A setting in the environment is wrong.
  if (error instanceof StartError) return reportFailure(usageError(error.message), isJson)
  if (!(error instanceof CommanderError)) return reportFault(error, isJson)
  // Help and version end so as well.
  if (error.exitCode === 0) return exitCodes.ok
  if (error.code !== 'commander.help') return reportFailure(usageError(error.message.replace(/^error: /, '')), isJson)
  // The group of a command without the command: people have got its help.
  return isJson ? reportFailure(usageError('give a command of this group; see its --help'), isJson) : exitCodes.usage
}

/** What no command expects: where the versions are the same, the trace is for those who mend it. */
function reportFault(error: unknown, isJson: boolean): number {
  const fault = error instanceof Error ? error : new Error(String(error))
  const text = `an unexpected fault: ${fault.message}. Is the node of the version of this command, ${packageVersion()}? See: postrider status`
  const code = reportFailure(new CommandError('failed', text, { cause: fault }), isJson)
  if (!isJson) console.error(fault.stack)
  return code
}
