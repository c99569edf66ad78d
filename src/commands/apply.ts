/** `postrider apply`: makes the settings of a node those of a file. */

import { Command } from 'commander'
import type { ApplyOptions } from './settings/apply-file.ts'

export const applyCommand = (): Command =>
  new Command('apply')
    .description('make the settings of the node those of a file, after showing what that changes')
    .argument('<file>', 'YAML or JSON, as `export` writes it; - for standard input')
    .option('--dry-run', 'only show what would change')
    .option('--yes', 'do not ask')
    .option('--prune', 'delete what the file does not have')
    .option('--update-secrets', 'set secrets also where there is one already')
    .action(async (file: string, options: ApplyOptions, self: Command) => {
      // Loaded only here: other commands read no YAML.
      const { apply } = await import('./settings/apply-file.ts')
      await apply(file, options, self)
    })
