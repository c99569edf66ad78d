/** The `postrider` command: runs it, and tells by the exit code how it went. */

import { CommanderError } from 'commander'
import { buildProgram } from './commands/program.ts'
import { CommandError, exitCodes } from './commands/shared/failure.ts'

try {
  await buildProgram().parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

function report(error: unknown): number {
  // Help and version end so as well; commander has said all there is to say.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  if (!(error instanceof CommandError)) throw error
  const { code, message, exit } = error
  const isJson = process.argv.includes('--json')
  console.error(isJson ? JSON.stringify({ success: false, code, message }) : `postrider: ${message}`)
  return exitCodes[exit]
}
