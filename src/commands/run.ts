/** Runs the `postrider` command, and tells by the exit code how it went. */

import { CommanderError } from 'commander'
import { StartError } from '../errors.ts'
import { packageVersion } from '../package-version.ts'
import { buildProgram, type Installed } from './program.ts'
import { CommandError, exitCodes, reportFailure, usageError } from './shared/failure.ts'

// Looked for here, because a command line that cannot be read fails before its options are known.
const isJson = process.argv.includes('--json')

export async function run(installed: Installed): Promise<void> {
  // A reader that has seen enough, such as `head`, is no failure; a full disk is one.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || process.exitCode !== undefined) return
    process.exitCode = reportFailure(
      new CommandError('failed', `the output cannot be written: ${error.message}`),
      isJson,
    )
  })
  // Nothing is left to tell it to.
  process.stderr.on('error', () => {})

  try {
    await buildProgram(installed, isJson).parseAsync()
  } catch (error) {
    const code = report(error)
    if (code !== exitCodes.ok) process.exitCode = code
  }
}

function report(error: unknown): number {
  if (error instanceof CommandError) return reportFailure(error, isJson)
  // A setting in the environment is wrong.
  if (error instanceof StartError) return reportFailure(usageError(error.message), isJson)
  if (!(error instanceof CommanderError)) return reportFault(error)
  // Help and version end so as well.
  if (error.exitCode === 0) return exitCodes.ok
  if (error.code !== 'commander.help') return reportFailure(usageError(error.message.replace(/^error: /, '')), isJson)
  // The group of a command without the command: people have got its help.
  return isJson ? reportFailure(usageError('give a command of this group; see its --help'), isJson) : exitCodes.usage
}

/** What no command expects: where the versions are the same, the trace is for those who mend it. */
function reportFault(error: unknown): number {
  const fault = error instanceof Error ? error : new Error(String(error))
  const text = `an unexpected fault: ${fault.message}. Is the node of the version of this command, ${packageVersion()}? See: postrider status`
  const code = reportFailure(new CommandError('failed', text, { cause: fault }), isJson)
  if (!isJson) console.error(fault.stack)
  return code
}
