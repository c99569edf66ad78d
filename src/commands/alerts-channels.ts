/** `postrider alerts channels` and what changes them: where alerts go. */

import { Option, type Command } from 'commander'
import { z } from 'zod'
import {
  AlertChannelSchema,
  AlertChannelTestSchema,
  type AlertChannel,
  type AlertChannelSettings,
  type NewAlertChannel,
} from '../schemas/alert.ts'
import { DoneSchema, segment, type Api } from './shared/api.ts'
import { CommandError, usageError } from './shared/failure.ts'
import { pick } from './shared/lookup.ts'
import { collect, environmentVariable } from './shared/options.ts'
import { facts, table } from './shared/output.ts'
import { confirm } from './shared/prompt.ts'
import { openSession } from './shared/session.ts'

const ChannelsSchema = z.object({ items: z.array(AlertChannelSchema) })

const listChannels = async (api: Api): Promise<AlertChannel[]> =>
  (await api.call('GET', '/alert-channels', ChannelsSchema)).items

interface ChannelOptions {
  kind: AlertChannelSettings['kind']
  urlEnv: string
  secretEnv?: string
  from?: string
  to?: string[]
  appUrl?: string
}

export function addAlertChannels(command: Command): void {
  command
    .command('channels')
    .description('show where alerts go')
    .action(async (_options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result({ items: await listChannels(api) }, ({ items }) =>
        table(
          ['id', 'name', 'kind', 'target', 'told last', 'error'],
          items.map(({ id, name, kind, target, lastToldAt, lastError }) => [
            id,
            name,
            kind,
            target,
            lastToldAt,
            lastError,
          ]),
          'No channels: nobody is told. Add one with: postrider alerts add-channel <name>',
        ),
      )
    })

  command
    .command('add-channel <name>')
    .description('add a place where alerts go')
    .addOption(
      new Option('--kind <kind>', 'how they go there').choices(['webhook', 'slack', 'email']).makeOptionMandatory(),
    )
    .requiredOption('--url-env <variable>', 'environment variable with the URL of the webhook or SMTP server')
    .option('--secret-env <variable>', 'environment variable with the secret that signs, for a webhook')
    .option('--from <address>', 'sender of the e-mail')
    .option('--to <address>', 'recipient of the e-mail (repeat for up to ten)', collect)
    .option('--app-url <url>', 'where this app is, for links')
    .action(async (name: string, options: ChannelOptions, self: Command) => {
      const { api, out } = await openSession(self)
      const body: NewAlertChannel = {
        name,
        settings: settingsOf(options),
        ...(options.appUrl !== undefined && { appUrl: options.appUrl }),
      }
      const made = await api.call('POST', '/alert-channels', AlertChannelSchema, body)
      out.result(made, ({ id, kind, target }) => facts({ id, name: made.name, kind, target }))
    })

  command
    .command('test-channel <channel>')
    .description('tell a channel of a sample alert now, by id or name')
    .action(async (wanted: string, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      const { id } = pick('channel', await listChannels(api), wanted)
      const answer = await api.call('POST', `/alert-channels/${segment(id)}/test`, AlertChannelTestSchema)
      out.result(answer, ({ outcome }) => `The test was ${outcome}.`)
      if (answer.outcome === 'failed') throw new CommandError('failed', answer.error ?? 'the channel did not take it')
    })

  command
    .command('remove-channel <channel>')
    .description('remove a channel, by id or name')
    .option('--yes', 'do not ask for confirmation')
    .action(async (wanted: string, options: { yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const { id, name } = pick('channel', await listChannels(api), wanted)
      await confirm(`Remove the channel ${name}? It is told of no alert any more.`, options)
      await api.call('DELETE', `/alert-channels/${segment(id)}`, DoneSchema)
      out.result({ removed: id }, () => `Removed ${id}.`)
    })
}

function settingsOf({ kind, urlEnv, secretEnv, from, to }: ChannelOptions): AlertChannelSettings {
  const url = environmentVariable(process.env, urlEnv)
  if (kind === 'slack') return { kind, url }
  if (kind === 'webhook')
    return { kind, url, ...(secretEnv !== undefined && { sharedSecret: environmentVariable(process.env, secretEnv) }) }
  if (from === undefined || to === undefined) throw usageError('e-mail needs --from and --to')
  return { kind, smtpUrl: url, from, to }
}
