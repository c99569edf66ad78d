/** `postrider audiences`: groups of users, and computed traits. */

import { answerOf } from '@postrider/api'
import { Command, Option } from 'commander'
import { audienceKinds, type Audience, type Membership, type Preview } from '../schemas/audience.ts'
import type { Destination } from '../schemas/destination.ts'
import { type Api, uploading } from './shared/api.ts'
import { CommandError, usageError } from './shared/failure.ts'
import { readInput } from './shared/input.ts'
import { findAudience, listAll, listAudiences, listDestinations, namesOf, pick } from './shared/lookup.ts'
import { membersUpload } from './shared/members-upload.ts'
import { collect, collectHeaders, expectChange, httpUrl } from './shared/options.ts'
import { facts, table, type Output } from './shared/output.ts'
import { confirm } from './shared/prompt.ts'
import { openSession } from './shared/session.ts'
import { addSyncCommands } from './audiences-syncs.ts'

const scheduleOf = ({ schedule }: Audience): string => {
  if (schedule === null) return 'none'
  return [schedule.interval && `every ${schedule.interval}`, schedule.cron, schedule.timezone]
    .filter(Boolean)
    .join(', ')
}

/** @param destinations  whose names are shown */
const show = (audience: Audience, destinations: Destination[]): string =>
  facts({
    id: audience.id,
    name: audience.name,
    trait: audience.key,
    kind: audience.kind,
    members: audience.members,
    'members from': audience.membership.kind,
    destinations: namesOf(audience.destinationIds, destinations),
    schedule: scheduleOf(audience),
    state: audience.paused ? 'paused' : 'on',
  })

async function tell(api: Api, out: Output, audience: Audience): Promise<void> {
  const destinations = out.isJson ? [] : await listDestinations(api)
  out.result(audience, (one) => show(one, destinations))
}

interface CreateOptions {
  key?: string
  kind: Audience['kind']
  destination?: string[]
  fromUrl?: string
  header?: Record<string, string>
  fromSql?: string
  connectionEnv?: string
  every?: string
  cron?: string
}

interface UpdateOptions {
  name?: string
  keepKey?: true
  newKey?: true
  destination?: string[]
  every?: string
  cron?: string
  /** Whether it may have one. */
  schedule: boolean
}

export function audiencesCommand(): Command {
  const command = new Command('audiences').description('groups of users, and computed traits')

  command
    .command('list')
    .description('show all audiences')
    .action(async (_options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      const [audiences, destinations] = await Promise.all([listAudiences(api), out.isJson ? [] : listDestinations(api)])
      out.result({ items: audiences }, ({ items }) =>
        table(
          ['id', 'name', 'trait', 'members', 'members from', 'destinations', 'state'],
          items.map((one) => [
            one.id,
            one.name,
            one.key,
            one.members,
            one.membership.kind,
            namesOf(one.destinationIds, destinations),
            one.paused ? 'paused' : 'on',
          ]),
          'No audiences yet. Create one with: postrider audiences create <name>',
        ),
      )
    })

  command
    .command('show <audience>')
    .description('show an audience')
    .action(async (wanted: string, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      await tell(api, out, await findAudience(api, wanted))
    })

  command
    .command('create')
    .argument('<name>', 'name of the audience')
    .description('create an audience; upload its members, or have them fetched with --from-url or --from-sql')
    .option('--key <key>', 'name of the trait (default: the name in snake_case)')
    .addOption(new Option('--kind <kind>', 'audience or computed trait').choices(audienceKinds).default('audience'))
    .option('--destination <destination>', 'id or name of a destination (repeat for several)', collect)
    .option('--from-url <url>', 'URL to fetch the members from', httpUrl)
    .option('--header <name: value>', 'header of that request (repeat for several)', collectHeaders)
    .option('--from-sql <file>', 'file with the query that returns the members, or - for standard input')
    .option('--connection-env <variable>', 'environment variable that holds the postgres:// URL of that database')
    .option('--every <duration>', 'sync at this interval, such as 15m, 6h or 1d (at least 1m)')
    .option('--cron <expression>', 'sync at these times, such as "0 6 * * *"')
    .action(async (name: string, options: CreateOptions, self: Command) => {
      const { api, out } = await openSession(self)
      const { key, kind, every, cron } = options
      const input = {
        name,
        key,
        kind,
        destinationIds: await destinationIds(api, options.destination ?? []),
        membership: await membershipOf(options),
        ...((every !== undefined || cron !== undefined) && { schedule: { interval: every, cron } }),
      }
      await tell(api, out, await answerOf(api.POST('/audiences', { body: input })))
    })

  command
    .command('update <audience>')
    .description('change an audience; given destinations replace all those it has')
    .option('--name <name>', 'its new name')
    .option('--keep-key', 'keep the name of its trait with a new name')
    .option('--new-key', 'take the name of its trait from the new name')
    .option('--destination <destination>', 'id or name of a destination (repeat for several)', collect)
    .option('--every <duration>', 'sync at this interval, such as 15m, 6h or 1d (at least 1m)')
    .option('--cron <expression>', 'sync at these times, such as "0 6 * * *"')
    .option('--no-schedule', 'sync only when asked to')
    .action(async (wanted: string, options: UpdateOptions, self: Command) => {
      expectChange(self)
      if (options.keepKey && options.newKey) throw usageError('give either --keep-key or --new-key, not both')
      const { api, out } = await openSession(self)
      const { id } = await findAudience(api, wanted)
      const { name, every, cron, schedule, destination } = options
      const change = {
        name,
        keepKey: options.keepKey ?? (options.newKey && false),
        ...(destination !== undefined && { destinationIds: await destinationIds(api, destination) }),
        ...(!schedule && { schedule: null }),
        ...((every !== undefined || cron !== undefined) && { schedule: { interval: every, cron } }),
      }
      const changed = answerOf(api.PATCH('/audiences/{id}', { params: { path: { id } }, body: change }))
      await tell(api, out, await changed.catch(explainKey))
    })

  command
    .command('preview <audience>')
    .argument('[file]', 'NDJSON or CSV; - for standard input; without it, the members are fetched')
    .description('show what a sync would send, with the members in a file or with those that would be fetched')
    .option('--format <format>', 'ndjson or csv (default: from the file name)')
    .action(async (wanted: string, file: string | undefined, options: { format?: string }, self: Command) => {
      const { api, out } = await openSession(self)
      const { id } = await findAudience(api, wanted)
      const upload = file === undefined ? {} : uploading(await membersUpload(file, options.format, out))
      const call = api.POST('/audiences/{id}/preview', { params: { path: { id } }, ...upload })
      out.result(await answerOf(call), previewText)
    })

  for (const [action, what] of [
    ['pause', 'pause its schedule'],
    ['resume', 'resume its schedule'],
  ] as const)
    command
      .command(`${action} <audience>`)
      .description(what)
      .action(async (wanted: string, _options: unknown, self: Command) => {
        const { api, out } = await openSession(self)
        const { id } = await findAudience(api, wanted)
        await tell(api, out, await answerOf(api.POST(`/audiences/{id}/${action}`, { params: { path: { id } } })))
      })

  command
    .command('delete <audience>')
    .description('delete an audience')
    .option('--notify', 'first tell its destinations that all members have left')
    .option('--yes', 'do not ask for confirmation')
    .action(async (wanted: string, options: { notify?: true; yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const audience = await findAudience(api, wanted)
      await confirm(`Delete the audience ${audience.name} with its ${audience.members} members?`, options)
      const params = { path: { id: audience.id }, query: { notify: options.notify && ('true' as const) } }
      const { syncId } = await answerOf(api.DELETE('/audiences/{id}', { params }))
      out.result({ deleted: audience.id, syncId }, () => `Deleted ${audience.id}.`)
    })

  command
    .command('syncs <audience>')
    .description('show its syncs, newest first')
    .action(async (wanted: string, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      const { id } = await findAudience(api, wanted)
      const items = await listAll((query) => api.GET('/audiences/{id}/syncs', { params: { path: { id }, query } }), 50)
      out.result({ items }, () =>
        table(
          ['id', 'kind', 'status', 'added', 'removed', 'sent', 'failed', 'requested', 'reason'],
          items.map((one) => [
            one.id,
            one.kind,
            one.status,
            one.added,
            one.removed,
            one.sent,
            one.failed,
            one.requestedAt,
            one.reason,
          ]),
          'The audience has had no syncs.',
        ),
      )
    })

  addSyncCommands(command)
  return command
}

/** As the options are called. */
function explainKey(error: unknown): never {
  if (!(error instanceof CommandError && error.message.startsWith('keepKey:'))) throw error
  throw usageError(
    'its trait would have another name: give --keep-key to keep the name, or --new-key to take the new one and send every member anew',
  )
}

async function destinationIds(api: Api, wanted: string[]): Promise<string[]> {
  if (wanted.length === 0) return []
  const destinations = await listDestinations(api)
  return wanted.map((one) => pick('destination', destinations, one).id)
}

async function membershipOf({ fromUrl, header, fromSql, connectionEnv }: CreateOptions): Promise<Membership> {
  if (fromUrl !== undefined && fromSql !== undefined) throw usageError('give either --from-url or --from-sql, not both')
  if (fromUrl !== undefined) return { kind: 'http', url: fromUrl, ...(header !== undefined && { headers: header }) }
  if (fromSql === undefined) return { kind: 'push' }
  const connectionString = connectionEnv === undefined ? undefined : process.env[connectionEnv]
  if (!connectionString) throw usageError('--from-sql needs --connection-env with a variable that is set')
  return { kind: 'sql', connectionString, query: await readInput(fromSql), statementTimeoutSeconds: 300 }
}

const previewText = ({ rowsRead, badRows, badRowSample, refusal, destinations }: Preview): string =>
  [
    `${rowsRead} rows read, ${badRows} bad.`,
    ...badRowSample.map(({ line, reason }) => `  line ${line}: ${reason}`),
    '',
    refusal ??
      table(
        ['destination', 'added', 'removed', 'unchanged', ''],
        destinations.map((one) => [
          one.destinationId,
          one.added,
          one.removed,
          one.unchanged,
          one.needsConfirmation ? 'needs confirmation' : '',
        ]),
        'The audience has no destinations, so nothing would be sent.',
      ),
  ].join('\n')
