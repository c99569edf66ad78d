/** What every command that talks to a node begins with. */

import type { Command } from 'commander'
import { createApi, type Api } from './api.ts'
import { findConnection, type ConnectionOptions } from './connection.ts'
import { createOutput, type Output } from './output.ts'

export interface GlobalOptions extends ConnectionOptions {
  json?: boolean
}

export const globalsOf = (command: Command): GlobalOptions => command.optsWithGlobals<GlobalOptions>()

export const outputOf = (command: Command): Output => createOutput(globalsOf(command).json === true)

/** The node and the output that the command line asks for. @param until  ends every call to the node */
export async function openSession(command: Command, until?: AbortSignal): Promise<{ api: Api; out: Output }> {
  const { address, token } = await findConnection(globalsOf(command), process.env)
  return { api: createApi(address, token, until), out: outputOf(command) }
}
