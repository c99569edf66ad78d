/** `postrider alerts channels` and what changes them: where alerts go. */

import { answerOf } from '@postrider/api'
import { Option, type Command } from 'commander'
import type { AlertChannel, AlertChannelPatch, AlertChannelSettings, NewAlertChannel } from '../schemas/alert.ts'
import { CommandError, usageError } from './shared/failure.ts'
import { listAlertChannels, pick } from './shared/lookup.ts'
import { collect, environmentVariable, expectChange } from './shared/options.ts'
import { facts, table } from './shared/output.ts'
import { confirm } from './shared/prompt.ts'
import { openSession } from './shared/session.ts'

interface ChannelOptions {
  kind: AlertChannelSettings['kind']
  urlEnv: string
  secretEnv?: string
  from?: string
  to?: string[]
  appUrl?: string
}

interface ChangeOptions extends Partial<Omit<ChannelOptions, 'kind' | 'appUrl'>> {
  name?: string
  secret: boolean
  appUrl?: string | false
}

export function addAlertChannels(command: Command): void {
  command
    .command('channels')
    .description('show where alerts go')
    .action(async (_options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result({ items: await listAlertChannels(api) }, ({ items }) =>
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
    .command('add-channel')
    .argument('<name>', 'name of the channel')
    .description('add a place where alerts go')
    .addOption(
      new Option('--kind <kind>', 'how they go there').choices(['webhook', 'slack', 'email']).makeOptionMandatory(),
    )
    .requiredOption('--url-env <variable>', 'environment variable with the URL of the webhook or SMTP server')
    .option('--secret-env <variable>', 'environment variable with the secret that signs, for a webhook')
    .option('--from <address>', 'sender of the e-mail')
    .option('--to <address>', 'recipient of the e-mail (repeat for up to ten)', collect)
    .option('--app-url <url>', 'where this app is, for links, such as https://postrider.example.com')
    .action(async (name: string, options: ChannelOptions, self: Command) => {
      const { api, out } = await openSession(self)
      const body: NewAlertChannel = {
        name,
        settings: settingsOf(options),
        ...(options.appUrl !== undefined && { appUrl: options.appUrl }),
      }
      const made = await answerOf(api.POST('/alert-channels', { body }))
      out.result(made, showChannel)
    })

  command
    .command('update-channel <channel>')
    .description('change a channel; what is left out stays')
    .option('--name <name>', 'another name')
    .option('--url-env <variable>', 'environment variable with the URL of the webhook or SMTP server')
    .option('--secret-env <variable>', 'environment variable with the secret that signs, for a webhook')
    .option('--no-secret', 'do not sign any more')
    .option('--from <address>', 'sender of the e-mail')
    .option('--to <address>', 'recipient of the e-mail, of all of them (repeat for up to ten)', collect)
    .option('--app-url <url>', 'where this app is, for links, such as https://postrider.example.com')
    .option('--no-app-url', 'no links any more')
    .action(async (wanted: string, options: ChangeOptions, self: Command) => {
      expectChange(self)
      const { api, out } = await openSession(self)
      const channel = pick('channel', await listAlertChannels(api), wanted)
      const body = changeOf(channel, options)
      const made = await answerOf(api.PATCH('/alert-channels/{id}', { params: { path: { id: channel.id } }, body }))
      out.result(made, showChannel)
    })

  command
    .command('test-channel <channel>')
    .description('tell a channel of a sample alert now')
    .action(async (wanted: string, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      const { id, name } = pick('channel', await listAlertChannels(api), wanted)
      const answer = await answerOf(api.POST('/alert-channels/{id}/test', { params: { path: { id } } }))
      out.result(answer, ({ outcome }) => (outcome === 'told' ? `${name} was told.` : `${name} was not told.`))
      if (answer.outcome === 'failed')
        throw new CommandError('failed', `the channel did not take it: ${answer.error ?? 'it did not say why'}`)
    })

  command
    .command('remove-channel <channel>')
    .description('remove a channel')
    .option('--yes', 'do not ask for confirmation')
    .action(async (wanted: string, options: { yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const { id, name } = pick('channel', await listAlertChannels(api), wanted)
      await confirm(`Remove the channel ${name}? No more alerts are sent to it.`, options)
      await answerOf(api.DELETE('/alert-channels/{id}', { params: { path: { id } } }))
      out.result({ removed: id }, () => `Removed ${id}.`)
    })
}

const showChannel = ({ id, name, kind, target }: AlertChannel): string => facts({ id, name, kind, target })

function changeOf({ kind }: AlertChannel, options: ChangeOptions): AlertChannelPatch {
  const { name, appUrl } = options
  const settings = changedSettings(kind, options)
  if (settings === undefined) throw usageError('a channel of this kind has no such setting')
  return {
    ...(name !== undefined && { name }),
    ...(appUrl !== undefined && { appUrl: appUrl === false ? null : appUrl }),
    ...(Object.keys(settings).length > 1 && { settings }),
  }
}

/** @returns undefined when an option is not for this kind */
function changedSettings(
  kind: AlertChannel['kind'],
  { urlEnv, secretEnv, secret, from, to }: ChangeOptions,
): AlertChannelPatch['settings'] {
  const url = urlEnv === undefined ? undefined : environmentVariable(process.env, urlEnv)
  const isSecretMeant = secretEnv !== undefined || !secret
  const isMailMeant = from !== undefined || to !== undefined
  if ((isSecretMeant && kind !== 'webhook') || (isMailMeant && kind !== 'email')) return undefined
  if (kind === 'slack') return { kind, ...(url !== undefined && { url }) }
  if (kind === 'webhook')
    return {
      kind,
      ...(url !== undefined && { url }),
      ...(secretEnv !== undefined && { sharedSecret: environmentVariable(process.env, secretEnv) }),
      ...(!secret && { sharedSecret: null }),
    }
  return {
    kind,
    ...(url !== undefined && { smtpUrl: url }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  }
}

function settingsOf({ kind, urlEnv, secretEnv, from, to }: ChannelOptions): AlertChannelSettings {
  const url = environmentVariable(process.env, urlEnv)
  if (kind === 'slack') return { kind, url }
  if (kind === 'webhook')
    return { kind, url, ...(secretEnv !== undefined && { sharedSecret: environmentVariable(process.env, secretEnv) }) }
  if (from === undefined || to === undefined) throw usageError('e-mail needs --from and --to')
  return { kind, smtpUrl: url, from, to }
}
