/** `postrider export`: the settings of a node as a file. */

import { answerOf } from '@postrider/api'
import { Command } from 'commander'
import { CommandError } from './shared/failure.ts'
import { openSession } from './shared/session.ts'
import { writeOutput } from './shared/write-output.ts'

export const exportCommand = (): Command =>
  new Command('export')
    .description(
      'print sources, destinations, audiences and alerts as a file for `apply`; secrets become names of environment variables',
    )
    .option('--output <file>', 'write to this file: JSON if its name ends in .json, else YAML')
    .option('--all', 'also what the node and `listen` made for one machine: Quickstart and their receivers')
    .action(async ({ output, all }: { output?: string; all?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const { role } = await answerOf(api.GET('/session'))
      if (role !== 'admin')
        throw new CommandError('unauthorized', `the role ${role} may not see all settings: use an admin token`)
      // Loaded only here: other commands read no YAML.
      const [{ exportSettings, readCurrent, withoutLocal }, { toYaml }] = await Promise.all([
        import('./settings/current.ts'),
        import('./settings/file.ts'),
      ])
      const current = await readCurrent(api)
      const settings = exportSettings(all ? current : withoutLocal(current))
      if (output === undefined) return out.result(settings, () => toYaml(settings).trimEnd())
      await writeOutput(output, output.endsWith('.json') ? `${JSON.stringify(settings, null, 2)}\n` : toYaml(settings))
      out.result({ written: output }, () => `Written: ${output}`)
    })
