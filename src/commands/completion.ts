/** `postrider complete <shell>`: completion of commands and options, from the commands themselves. */

import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'

/** Adds the command; all others must be there already. */
export function addCompletion(program: Command): void {
  tab(program)
  program.commands
    .find((command) => command.name() === 'complete')
    ?.description('print a script that completes commands and options in your shell')
}
