/** Runs the `postrider` command, and tells by the exit code how it went. */

import { buildProgram, type Installed } from './program.ts'
import { CommandError, exitCodes, reportFailure } from './shared/failure.ts'
import { report } from './shared/report.ts'

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
    const code = report(error, isJson)
    if (code !== exitCodes.ok) process.exitCode = code
  }
}
