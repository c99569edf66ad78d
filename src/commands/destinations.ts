/** `postrider destinations`: where events go. */

import { Command, Option } from 'commander'
import { z } from 'zod'
import {
  DestinationViewSchema,
  SuccessPolicySchema,
  type Destination,
  type DestinationView,
  type NewDestination,
} from '../schemas/destination.ts'
import { EndpointTestSchema } from '../schemas/endpoint-test.ts'
import { messageTypes } from '../schemas/message.ts'
import { segment, type Api } from './shared/api.ts'
import { CommandError, usageError } from './shared/failure.ts'
import { findDestination, listDestinations, listSources, pick } from './shared/lookup.ts'
import { collect, collectHeaders, duration, httpUrl } from './shared/options.ts'
import { facts, table } from './shared/output.ts'
import { confirm } from './shared/prompt.ts'
import { openSession } from './shared/session.ts'

const stateOf = ({ enabled, paused }: Destination): string => (!enabled ? 'off' : paused ? 'paused' : 'on')

/** As `1 down, 1 working`. */
function healthOf({ endpoints }: DestinationView): string {
  const states = ['down', 'failing', 'untried', 'working'] as const
  const counts = states.map((state) => ({ state, count: endpoints.filter((one) => one.state === state).length }))
  return counts.flatMap(({ state, count }) => (count === 0 ? [] : `${count} ${state}`)).join(', ')
}

function stateColumns({ endpoints }: DestinationView, endpointId: string): (string | null)[] {
  const found = endpoints.find(({ id }) => id === endpointId)
  if (found === undefined) return []
  const { state, downSince, failingSince, nextProbeAt, reason } = found
  const probe = state === 'down' ? (nextProbeAt ?? 'due') : null
  return [state, downSince ?? failingSince, probe, reason]
}

const show = (destination: DestinationView): string =>
  [
    facts({
      id: destination.id,
      name: destination.name,
      state: stateOf(destination),
      sources: destination.sourceIds.join(', '),
      'counts as delivered': destination.successPolicy === 'any' ? 'when any endpoint took it' : 'when all took it',
      signed: destination.settings.hasSharedSecret ? 'yes' : 'no',
    }),
    '',
    table(
      ['endpoint', 'url', 'headers', 'state', 'since', 'next attempt', 'reason'],
      destination.settings.webhooks.map(({ id, url, headers }) => [
        id,
        url,
        Object.keys(headers).join(', '),
        ...stateColumns(destination, id),
      ]),
      'No endpoints.',
    ),
  ].join('\n')

interface Settings {
  name?: string
  source?: string[]
  url?: string[]
  header?: Record<string, string>
  secretEnv?: string
  successPolicy?: Destination['successPolicy']
  off?: true
}

const withSettings = (command: Command): Command =>
  command
    .option('--source <source>', 'id or name of a source whose events it gets (several: give it again)', collect)
    .option('--url <url>', 'an endpoint (up to five: give it again)', (text: string, before?: string[]) =>
      collect(httpUrl(text), before),
    )
    .option('--header <name: value>', 'header of all requests to these endpoints (give it again)', collectHeaders)
    .option('--secret-env <variable>', 'environment variable that holds the shared secret; requests are then signed')
    .addOption(
      new Option(
        '--success-policy <policy>',
        'which endpoints must take an event, so that it counts as delivered',
      ).choices(SuccessPolicySchema.options),
    )

export function destinationsCommand(): Command {
  const command = new Command('destinations').description('where events go')

  command
    .command('list')
    .description('show all destinations')
    .action(async (_options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result({ items: await listDestinations(api) }, ({ items }) =>
        table(
          ['id', 'name', 'state', 'health', 'endpoints'],
          items.map((item) => [
            item.id,
            item.name,
            stateOf(item),
            healthOf(item),
            item.settings.webhooks.map(({ url }) => url).join(' '),
          ]),
          'No destinations. Make one with: postrider destinations create <name> --url <url>',
        ),
      )
    })

  command
    .command('show <destination>')
    .description('show one, by id or name')
    .action(async (wanted: string, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result(await findDestination(api, wanted), show)
    })

  withSettings(command.command('create <name>'))
    .description('make a destination')
    .option('--off', 'do not switch it on yet')
    .action(async (name: string, options: Settings, self: Command) => {
      const { api, out } = await openSession(self)
      const input: Partial<NewDestination> = {
        name,
        type: 'webhooks',
        enabled: options.off !== true,
        sourceIds: await sourceIds(api, options.source ?? []),
        settings: { webhooks: webhooksOf(options), ...secretOf(options) },
        ...(options.successPolicy !== undefined && { successPolicy: options.successPolicy }),
      }
      out.result(await api.call('POST', '/destinations', DestinationViewSchema, input), show)
    })

  withSettings(command.command('update <destination>'))
    .description('change a destination; sources and endpoints that are given replace those it has')
    .option('--name <name>', 'its new name')
    .option(
      '--secret-overlap <duration>',
      'how long the replaced secret goes on signing, such as 24h (at most 30d)',
      duration,
    )
    .action(async (wanted: string, options: Settings & { secretOverlap?: number }, self: Command) => {
      const { secretOverlap } = options
      if (secretOverlap !== undefined && options.secretEnv === undefined)
        throw usageError('--secret-overlap needs --secret-env')
      if (options.header !== undefined && options.url === undefined) throw usageError('--header needs --url')
      const { api, out } = await openSession(self)
      const { id } = await findDestination(api, wanted)
      const change = {
        name: options.name,
        successPolicy: options.successPolicy,
        ...(options.source !== undefined && { sourceIds: await sourceIds(api, options.source) }),
        settings: {
          ...(options.url !== undefined && { webhooks: webhooksOf(options) }),
          ...secretOf(options),
          ...(secretOverlap !== undefined && { secretOverlapSeconds: Math.round(secretOverlap / 1_000) }),
        },
      }
      out.result(await api.call('PATCH', `/destinations/${segment(id)}`, DestinationViewSchema, change), show)
    })

  const switches = [
    { name: 'pause', change: { paused: true }, what: 'hold its events until it is resumed' },
    { name: 'resume', change: { paused: false }, what: 'deliver what was held, and go on' },
    { name: 'enable', change: { enabled: true }, what: 'switch it on' },
    {
      name: 'disable',
      change: { enabled: false },
      what: 'switch it off: it gets no events, and waiting ones are dropped',
    },
  ]
  for (const { name, change, what } of switches)
    command
      .command(`${name} <destination>`)
      .description(what)
      .action(async (wanted: string, _options: unknown, self: Command) => {
        const { api, out } = await openSession(self)
        const { id } = await findDestination(api, wanted)
        out.result(await api.call('PATCH', `/destinations/${segment(id)}`, DestinationViewSchema, change), show)
      })

  command
    .command('test <destination>')
    .description('send a sample event to each endpoint now, and show what came back')
    .addOption(new Option('--type <type>', 'which call').choices(messageTypes).default('track'))
    .action(async (wanted: string, { type }: { type: string }, self: Command) => {
      const { api, out } = await openSession(self)
      const { id } = await findDestination(api, wanted)
      const answer = await api.call('POST', `/destinations/${segment(id)}/test`, EndpointTestSchema, { type })
      out.result(answer, ({ results }) =>
        table(
          ['endpoint', 'outcome', 'status', 'ms', 'error'],
          results.map((result) => [result.url, result.outcome, result.status, result.durationMs, result.error]),
          'It has no endpoints.',
        ),
      )
      const failed = answer.results.filter(({ outcome }) => outcome !== 'delivered')
      if (failed.length > 0) throw new CommandError('failed', `${failed.length} of the endpoints did not take it`)
    })

  command
    .command('delete <destination>')
    .description('delete a destination; what waits for it is dropped')
    .option('--yes', 'do not ask')
    .action(async (wanted: string, options: { yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const destination = await findDestination(api, wanted)
      await confirm(`Delete the destination ${destination.name}, and drop what waits for it?`, options)
      await api.call('DELETE', `/destinations/${segment(destination.id)}`, z.object({ success: z.literal(true) }))
      out.result({ deleted: destination.id }, () => `Deleted ${destination.id}.`)
    })
  return command
}

async function sourceIds(api: Api, wanted: string[]): Promise<string[]> {
  if (wanted.length === 0) return []
  const sources = await listSources(api)
  return wanted.map((one) => pick('source', sources, one).id)
}

const webhooksOf = ({ url = [], header }: Settings) =>
  url.map((target) => ({ url: target, ...(header !== undefined && { headers: header }) }))

/** From the environment: other users of the machine can read command lines. */
function secretOf({ secretEnv }: Settings): { sharedSecret?: string } {
  if (secretEnv === undefined) return {}
  const sharedSecret = process.env[secretEnv]
  if (sharedSecret === undefined || sharedSecret === '') throw usageError(`the variable ${secretEnv} is not set`)
  return { sharedSecret }
}
