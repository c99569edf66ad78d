/** `postrider apply`: makes the settings of a node those of a file. */

import { Command } from 'commander'
import type { ApplyOptions } from './settings/apply-file.ts'

export const applyCommand = (): Command =>
  new Command('apply')
    .description('change the settings of a node to those in a file, after showing the changes')
    .argument('<file>', 'YAML or JSON, as `export` writes it; - for standard input')
    .option('--dry-run', 'only show what would change')
    .option('--yes', 'do not ask for confirmation')
    .option('--prune', 'delete what is not in the file')
    .option('--update-secrets', 'also replace secrets that are set already')
    .action(async (file: string, options: ApplyOptions, self: Command) => {
      // Loaded only here: other commands read no YAML.
      const { apply } = await import('./settings/apply-file.ts')
      await apply(file, options, self)
    })
