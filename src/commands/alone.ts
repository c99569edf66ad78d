/** The command alone, without the rest of Postrider: what needs that says where it is to be had. */

import { Command } from 'commander'
import type { Installed } from './program.ts'
import { usageError } from './shared/failure.ts'

const lacking = (name: string): Command =>
  new Command(name)
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw usageError(
        `${name} needs the whole of Postrider, and this is its command alone: run it in a checkout of Postrider (npm ci, then npx postrider ${name}) or in its container image`,
      )
    })

export const alone = (): Installed => ({ commands: [], lacking: ['start', 'migrate', 'keys'].map(lacking) })
