/** What a node that does not start tells its operator to run. */

import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { inject } from 'vitest'

/** Runs the `temporal` command that a refusal names, as the operator of that Temporal would.
 *  @param environment  where that Temporal is and who calls, as `TEMPORAL_…` variables */
export async function runToldCommand(refusal: string, environment: Record<string, string>): Promise<void> {
  const [, command = ''] = /; run: (temporal operator .+)$/m.exec(refusal) ?? []
  const program = command.replace(/^temporal/, `'${inject('temporalCli')}'`)
  await promisify(execFile)('/bin/sh', ['-c', program], {
    // A home without the user's own settings of Temporal.
    env: { PATH: process.env['PATH'], HOME: tmpdir(), ...environment },
  })
}
