/** The `postrider` command with all its commands. */

import { Command, type CommanderError, type OutputConfiguration } from 'commander'
import { packageVersion } from '../package-version.ts'
import { applyCommand } from './apply.ts'
import { auditLogCommand } from './audit-log.ts'
import { audiencesCommand } from './audiences.ts'
import { addCompletion } from './completion.ts'
import { deletionRequestsCommand } from './deletion-requests.ts'
import { deliveriesCommand } from './deliveries.ts'
import { destinationsCommand } from './destinations.ts'
import { doctorCommand, type CheckMachine } from './doctor.ts'
import { examplesOf } from './examples.ts'
import { exportCommand } from './export.ts'
import { listenCommand } from './listen.ts'
import { loginCommand } from './login.ts'
import { profilesCommand } from './profiles.ts'
import { sendCommand } from './send.ts'
import { sourcesCommand } from './sources.ts'
import { statusCommand } from './status.ts'
import { alertsCommand } from './alerts.ts'
import { tokensCommand } from './tokens.ts'

/** What is there beside the commands that talk to a node. */
export interface Installed {
  /** Commands that run a node, or work on its database. */
  commands: Command[]
  /** Those of them that this installation lacks: they say where they are to be had. */
  lacking: Command[]
  /** Checks of this machine, for `doctor`; absent: none. */
  checkMachine?: CheckMachine
}

/** @param isJson  whether programs read what it says about a wrong command line */
export function buildProgram({ commands: ofNodes, lacking, checkMachine }: Installed, isJson = false): Command {
  const program = new Command('postrider')
    .description('Event delivery to HTTP endpoints')
    .version(packageVersion())
    .option(
      '--profile <name>',
      'use the address and token that `login` saved under this name (also: POSTRIDER_PROFILE)',
    )
    .option('--address <url>', 'address of the node (also: POSTRIDER_ADDRESS; default: http://127.0.0.1:8080)')
    .option('--token <token>', 'admin or API token (also: POSTRIDER_ADMIN_TOKEN)')
    .option('--json', 'print JSON for programs')
    .addHelpText(
      'after',
      [
        '',
        'Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 not reachable, 4 not authorised, 5 not found, 6 timed out,',
        '7 differs, 130 interrupted. Each command has examples: postrider <command> --help',
      ].join('\n'),
    )
  // Before completion, which takes over how its program ends.
  program.configureOutput(quietOutput(isJson)).exitOverride(withHelpOf(''))
  const commands = [
    ...ofNodes,
    ...[doctorCommand(checkMachine), loginCommand(), profilesCommand(), sendCommand()],
    ...[listenCommand(), sourcesCommand(), destinationsCommand(), deliveriesCommand(), audiencesCommand()],
    ...[exportCommand(), applyCommand()],
    ...[statusCommand(), alertsCommand(), tokensCommand(), auditLogCommand(), deletionRequestsCommand()],
  ]
  for (const command of commands) program.addCommand(command)
  addCompletion(program)
  // Neither help nor completion has them.
  for (const command of lacking) program.addCommand(command, { hidden: true })
  finish(program, '', isJson)
  return program
}

/** What an argument is that only names a thing. */
const argumentTexts: Record<string, string> = Object.fromEntries(
  ['source', 'destination', 'audience', 'channel', 'token'].map((kind) => [kind, `id or name of the ${kind}`]),
)

/** What all commands have in common. @param words  of the command, without the program's name */
function finish(command: Command, words: string, isJson: boolean): void {
  command
    .configureHelp({ showGlobalOptions: true })
    .configureOutput(quietOutput(isJson))
    .exitOverride(withHelpOf(words))
  for (const argument of command.registeredArguments) argument.description ||= argumentTexts[argument.name()] ?? ''
  const lines = words === '' ? [] : examplesOf(words)
  if (lines.length > 0) command.addHelpText('after', ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n'))
  for (const child of command.commands) finish(child, `${words} ${child.name()}`.trimStart(), isJson)
}

/** Errors are thrown instead, and reported like any other failure. */
const quietOutput = (isJson: boolean): OutputConfiguration => ({
  outputError: () => {},
  ...(isJson && { writeErr: () => {} }),
})

/** Faults of a command line whose message does not say what would be right. */
const unhelped = new Set(
  [
    'missingArgument',
    'optionMissingArgument',
    'missingMandatoryOptionValue',
    'excessArguments',
    'unknownOption',
    'unknownCommand',
  ].map((name) => `commander.${name}`),
)

const withHelpOf =
  (words: string) =>
  (error: CommanderError): never => {
    if (unhelped.has(error.code) && !error.message.includes('Did you mean'))
      error.message = `${error.message.replace(/\.$/, '')}; see: ${['postrider', words, '--help'].filter(Boolean).join(' ')}`
    throw error
  }
