/** The `postrider` command: runs it, and tells by the exit code how it went. */

import { CommanderError } from 'commander'
import { buildProgram } from './commands/program.ts'
import { CommandError, exitCodes, reportFailure, usageError } from './commands/shared/failure.ts'

// Looked for here, because a command line that cannot be read fails before its options are known.
const isJson = process.argv.includes('--json')

try {
  await buildProgram({ isJson }).parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

function report(error: unknown): number {
  if (error instanceof CommandError) return reportFailure(error, isJson)
  if (!(error instanceof CommanderError)) throw error
  // Help and version end so as well.
  if (error.exitCode === 0) return exitCodes.ok
  if (error.code !== 'commander.help') return reportFailure(usageError(error.message.replace(/^error: /, '')), isJson)
  // The group of a command without the command: people have got its help.
  return isJson ? reportFailure(usageError('give a command of this group; see its --help'), isJson) : exitCodes.usage
}
