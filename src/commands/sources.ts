/** `postrider sources`: where events come from. */

import { answerOf } from '@postrider/api'
import { Command } from 'commander'
import { maxKeyOverlapSeconds, type Source } from '../schemas/source.ts'
import { usageError } from './shared/failure.ts'
import { findSource, listSources } from './shared/lookup.ts'
import { durationWithin, expectChange, secondsOf } from './shared/options.ts'
import { facts, table } from './shared/output.ts'
import { confirm } from './shared/prompt.ts'
import { openSession } from './shared/session.ts'

const state = ({ enabled }: Source): string => (enabled ? 'on' : 'off')

const show = (source: Source): string =>
  facts({
    id: source.id,
    name: source.name,
    'write key': source.writeKey,
    state: state(source),
    created: source.createdAt,
    ...Object.fromEntries(
      source.previousKeyEnds.map(({ keyBegins, expiresAt }) => [`old key ${keyBegins}… works until`, expiresAt]),
    ),
  })

export function sourcesCommand(): Command {
  const command = new Command('sources').description('where events come from')

  command
    .command('list')
    .description('show all sources')
    .action(async (_options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result({ items: await listSources(api) }, ({ items }) =>
        table(
          ['id', 'name', 'state', 'write key'],
          items.map((source) => [source.id, source.name, state(source), source.writeKey]),
          'No sources yet. Create one with: postrider sources create <name>',
        ),
      )
    })

  command
    .command('show <source>')
    .description('show a source')
    .action(async (wanted: string, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result(await findSource(api, wanted), show)
    })

  command
    .command('create')
    .argument('<name>', 'name of the source')
    .description('create a source with its own write key')
    .action(async (name: string, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result(await answerOf(api.POST('/sources', { body: { name } })), show)
    })

  command
    .command('update <source>')
    .description('rename a source, or switch it on or off')
    .option('--name <name>', 'its new name')
    .option('--on', 'switch it on: its events are accepted')
    .option('--off', 'switch it off: its events are refused')
    .action(async (wanted: string, options: { name?: string; on?: true; off?: true }, self: Command) => {
      expectChange(self)
      if (options.on && options.off) throw usageError('give either --on or --off, not both')
      const { api, out } = await openSession(self)
      const { id } = await findSource(api, wanted)
      const enabled = options.on ?? (options.off && false)
      const change = { name: options.name, enabled }
      out.result(await answerOf(api.PATCH('/sources/{id}', { params: { path: { id } }, body: change })), show)
    })

  command
    .command('rotate-key <source>')
    .description('give a source a new write key; the old one stops working at once, or after --overlap')
    .option(
      '--overlap <duration>',
      'how long the old key still works, such as 24h (at most 30d)',
      durationWithin(0, maxKeyOverlapSeconds),
    )
    .option('--yes', 'do not ask for confirmation')
    .action(async (wanted: string, options: { overlap?: number; yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const source = await findSource(api, wanted)
      const overlapSeconds = secondsOf(options.overlap ?? 0)
      if (overlapSeconds === 0)
        await confirm(`The write key of ${source.name} and all earlier ones stop working at once. Continue?`, options)
      const call = { params: { path: { id: source.id } }, body: { overlapSeconds } }
      out.result(await answerOf(api.POST('/sources/{id}/rotate-key', call)), show)
    })

  command
    .command('end-previous-keys <source>')
    .description('stop old write keys from working before their --overlap ends')
    .option('--yes', 'do not ask for confirmation')
    .action(async (wanted: string, options: { yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const source = await findSource(api, wanted)
      await confirm(`The old write keys of ${source.name} stop working at once. Continue?`, options)
      out.result(
        await answerOf(api.DELETE('/sources/{id}/previous-keys', { params: { path: { id: source.id } } })),
        show,
      )
    })

  command
    .command('delete <source>')
    .description('delete a source; its write key stops working at once')
    .option('--yes', 'do not ask for confirmation')
    .action(async (wanted: string, options: { yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const source = await findSource(api, wanted)
      await confirm(`Delete the source ${source.name}? Its events are refused from then on.`, options)
      await answerOf(api.DELETE('/sources/{id}', { params: { path: { id: source.id } } }))
      out.result({ deleted: source.id }, () => `Deleted ${source.id}.`)
    })
  return command
}
