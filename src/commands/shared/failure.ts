/** How a command ends: exit codes, and the error that carries one. `docs/command.md` lists the same codes. */

export const exitCodes = {
  ok: 0,
  /** What was asked for failed or was refused. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The node, or a part that it needs, such as the database, does not answer. */
  unreachable: 3,
  /** The token is missing or wrong, or its role may not do this. */
  unauthorized: 4,
  /** Nothing has this id or name. */
  notFound: 5,
  /** Not over within `--timeout`; it goes on without the command. */
  timeout: 6,
  /** The dry run of `apply` found changes; one that would fail ends as `apply` itself would. */
  differs: 7,
  /** Ended by Ctrl-C at a question or during a start. */
  interrupted: 130,
} as const
export type ExitCode = keyof typeof exitCodes

/** Stable codes for programs, where the node gave none. `docs/command.md` lists the same ones. */
export const codes: Record<ExitCode, string> = {
  ok: 'ok',
  failed: 'failed',
  usage: 'usage',
  unreachable: 'unreachable',
  unauthorized: 'unauthorized',
  notFound: 'not_found',
  timeout: 'timeout',
  differs: 'differs',
  interrupted: 'interrupted',
}

/** Ends the command with a line for the user. */
export class CommandError extends Error {
  override name = 'CommandError'
  readonly exit: ExitCode
  /** Stable code for programs: the API's own where it answered with one. */
  readonly code: string

  constructor(exit: ExitCode, message: string, options: ErrorOptions & { code?: string } = {}) {
    super(message, options)
    this.exit = exit
    this.code = options.code ?? codes[exit]
  }
}

/** Tells of a failure on standard error.
 *  @returns the exit code */
export function reportFailure({ code, message, exit }: CommandError, isJson: boolean): number {
  console.error(isJson ? JSON.stringify({ success: false, code, message }) : `postrider: ${message}`)
  return exitCodes[exit]
}

export const usageError = (message: string): CommandError => new CommandError('usage', message)
