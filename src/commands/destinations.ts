/** `postrider destinations`: where events go. */

import { answerOf } from '@postrider/api'
import { Command, Option } from 'commander'
import type { z } from 'zod'
import {
  maxHoldAfterSeconds,
  maxOrderWaitSeconds,
  maxSecretOverlapSeconds,
  OnFailingSchema,
  SuccessPolicySchema,
  type Destination,
  type DestinationPatch,
  type DestinationView,
  type NewDestinationSchema,
} from '../schemas/destination.ts'
import {
  EndpointOptionsSchema,
  highestRate,
  maxTimeoutSeconds,
  mostConcurrent,
  type DifferingOptions,
  type EndpointOptions,
} from '../schemas/endpoint-options.ts'
import { maxRetryWindowHours, type RetryPauses } from '../schemas/retry-options.ts'
import type { Source } from '../schemas/source.ts'
import { messageTypes, type MessageType } from '../schemas/message.ts'
import { maxRehearsed, type Rehearsal } from '../schemas/rehearsal.ts'
import type { Api } from './shared/api.ts'
import { CommandError, usageError } from './shared/failure.ts'
import { parseYaml, readInput } from './shared/input.ts'
import { findDestination, listDestinations, listSources, namesOf, pick } from './shared/lookup.ts'
import {
  collect,
  collectHeaders,
  collectStatuses,
  durationWithin,
  environmentVariable,
  expectChange,
  httpUrl,
  nullIfNone,
  orNone,
  retryPauses,
  secondsOf,
  wholeNumber,
  type OrNone,
} from './shared/options.ts'
import { facts, table, type Output } from './shared/output.ts'
import { confirm } from './shared/prompt.ts'
import { openSession } from './shared/session.ts'

const stateOf = ({ enabled, paused, held }: Destination): string =>
  !enabled ? (paused ? 'off, paused' : 'off') : held !== null ? 'held' : paused ? 'paused' : 'on'

const failingOf = ({ onFailing, holdAfterSeconds, held }: Destination): string => {
  if (held !== null) return `held since ${held.since}: failing since ${held.failingSince}`
  return onFailing === 'retry' ? 'deliveries are retried' : `deliveries are held after ${holdAfterSeconds} s`
}

const pausesText = ({ firstSeconds, maxSeconds }: RetryPauses): string => `${firstSeconds} to ${maxSeconds} s, doubling`

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

/** As `PUT, 20 s, takes 404 410, 10/s, retried for 72 h`, only what differs from the usual. */
const shownOptions = (options: DifferingOptions): string => {
  const { method, contentType, timeoutSeconds, successStatuses, maxPerSecond, maxConcurrent } = options
  const { retryWindowHours, retryPauses } = options
  return [
    method,
    contentType,
    timeoutSeconds && `${timeoutSeconds} s`,
    successStatuses && `takes ${successStatuses.join(' ')}`,
    maxPerSecond && `${maxPerSecond}/s`,
    maxConcurrent && `${maxConcurrent} at a time`,
    retryWindowHours && `retried for ${retryWindowHours} h`,
    retryPauses && `pauses ${pausesText(retryPauses)}`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** @param sources  whose names are shown */
const show = (destination: DestinationView, sources: Source[]): string =>
  [
    facts({
      id: destination.id,
      name: destination.name,
      state: stateOf(destination),
      sources: namesOf(destination.sourceIds, sources),
      delivered:
        destination.successPolicy === 'any'
          ? 'when one endpoint has accepted it'
          : 'when every endpoint has accepted it',
      'while it fails': failingOf(destination),
      'retried for':
        destination.retryWindowHours === null ? 'as the node is set up' : `${destination.retryWindowHours} h`,
      'pauses between':
        destination.retryPauses === null ? 'as the node is set up' : pausesText(destination.retryPauses),
      'order of users':
        destination.orderPerUser === null
          ? 'not kept: events go side by side'
          : `kept: an event waits up to ${destination.orderPerUser.maxWaitSeconds} s for those before it`,
      filter: destination.filter === null ? 'none: it takes all events' : JSON.stringify(destination.filter),
      mapping: destination.mapping === null ? 'none: events are sent as they are' : JSON.stringify(destination.mapping),
      signed: destination.settings.hasSharedSecret ? 'yes' : 'no',
    }),
    '',
    table(
      ['endpoint', 'url', 'headers', 'options', 'state', 'since', 'next attempt', 'reason'],
      destination.settings.webhooks.map(({ id, url, headers, ...options }) => [
        id,
        url,
        Object.keys(headers).join(', '),
        shownOptions(options),
        ...stateColumns(destination, id),
      ]),
      'No endpoints.',
    ),
  ].join('\n')

async function tell(api: Api, out: Output, destination: DestinationView): Promise<void> {
  const sources = out.isJson ? [] : await listSources(api)
  out.result(destination, (one) => show(one, sources))
}

interface Settings {
  name?: string
  source?: string[]
  url?: string[]
  header?: Record<string, string>
  method?: EndpointOptions['method']
  contentType?: EndpointOptions['contentType']
  /** In milliseconds. */
  timeout?: number
  successStatus?: EndpointOptions['successStatuses']
  maxPerSecond?: OrNone<number>
  maxConcurrent?: OrNone<number>
  /** In milliseconds; `none`: as at the destination. */
  endpointRetryWindow?: OrNone<number>
  endpointRetryPauses?: OrNone<RetryPauses>
  secretEnv?: string
  successPolicy?: Destination['successPolicy']
  onFailing?: Destination['onFailing']
  /** In milliseconds. */
  holdAfter?: number
  /** In milliseconds; `none`: as the node is set up. */
  retryWindow?: OrNone<number>
  retryPauses?: OrNone<RetryPauses>
  /** In milliseconds; `none`: not kept. */
  orderPerUser?: OrNone<number>
  /** Path of a file; `false`: none. */
  filter?: string | false
  /** Likewise. */
  mapping?: string | false
  off?: true
}

/** The retry window of a destination or an endpoint, in milliseconds. */
const retryWindow = durationWithin(3_600, maxRetryWindowHours * 3_600, 'hours')

const withSettings = (command: Command): Command =>
  command
    .option('--source <source>', 'id or name of a source whose events it gets (repeat for several)', collect)
    .option('--url <url>', 'URL of an endpoint (repeat for up to five)', (text: string, before?: string[]) =>
      collect(httpUrl(text), before),
    )
    .option('--header <name: value>', 'header of all requests to these endpoints (repeat for several)', collectHeaders)
    .addOption(
      new Option('--method <method>', 'method of requests to these endpoints; POST unless set').choices(
        EndpointOptionsSchema.shape.method.options,
      ),
    )
    .addOption(
      new Option(
        '--content-type <type>',
        'whether requests to these endpoints have JSON or a form; JSON unless set',
      ).choices(EndpointOptionsSchema.shape.contentType.options),
    )
    .option(
      '--success-status <status>',
      'status beside 2xx, or range as 400-404, by which these endpoints accept an event (repeat for several; none: only 2xx)',
      collectStatuses,
    )
    .option(
      '--timeout <duration>',
      'how long these endpoints have for their answers, 1s to 30s; 5s unless set',
      durationWithin(1, maxTimeoutSeconds),
    )
    .option(
      '--max-per-second <count>',
      'requests a second that each node sends to each of these endpoints at most, 1 to 1000 (none: no bound)',
      orNone(wholeNumber(1, highestRate)),
    )
    .option(
      '--max-concurrent <count>',
      'attempts that each node makes at a time at each of these endpoints at most, 1 to 128 (none: no bound)',
      orNone(wholeNumber(1, mostConcurrent)),
    )
    .option(
      '--endpoint-retry-window <duration>',
      'how long after its first attempt an event is retried at these endpoints, 1h to 72h (none: as at the destination)',
      orNone(retryWindow),
    )
    .option(
      '--endpoint-retry-pauses <first..longest>',
      'pauses between attempts at these endpoints, such as 30s..15m (none: as at the destination)',
      orNone(retryPauses),
    )
    .option('--secret-env <variable>', 'environment variable that holds the shared secret; requests are then signed')
    .addOption(
      new Option(
        '--success-policy <policy>',
        'which endpoints must accept an event before it counts as delivered; any unless set',
      ).choices(SuccessPolicySchema.options),
    )
    .addOption(
      new Option(
        '--on-failing <what>',
        'what becomes of deliveries while every endpoint fails; retry unless set',
      ).choices(OnFailingSchema.options),
    )
    .option(
      '--hold-after <duration>',
      'with --on-failing hold, after how long a failure, 1s to 24h; 5m unless set',
      durationWithin(1, maxHoldAfterSeconds),
    )
    .option(
      '--retry-window <duration>',
      'how long after its first attempt an event is retried, 1h to 72h (none: as the node is set up)',
      orNone(retryWindow),
    )
    .option(
      '--retry-pauses <first..longest>',
      'pauses between attempts, which double from the first to the longest, such as 30s..15m (none: as the node is set up)',
      orNone(retryPauses),
    )
    .option(
      '--order-per-user <duration>',
      "keep the order of each user's events: how long one waits at most for those before it, 1s to 24h (none: not kept)",
      orNone(durationWithin(1, maxOrderWaitSeconds)),
    )
    .option('--filter <file>', 'file with its filter in YAML or JSON, which says what events it takes; - for input')
    .option('--mapping <file>', 'file with its mapping in YAML or JSON, which says how events change; - for input')

export function destinationsCommand(): Command {
  const command = new Command('destinations').description('where events are sent')

  command
    .command('list')
    .description('show all destinations')
    .action(async (_options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      const [destinations, sources] = await Promise.all([listDestinations(api), out.isJson ? [] : listSources(api)])
      out.result({ items: destinations }, ({ items }) =>
        table(
          ['id', 'name', 'sources', 'state', 'health', 'endpoints'],
          items.map((item) => [
            item.id,
            item.name,
            namesOf(item.sourceIds, sources),
            stateOf(item),
            healthOf(item),
            item.settings.webhooks.map(({ url }) => url).join(' '),
          ]),
          'No destinations yet. Create one with: postrider destinations create <name> --url <url>',
        ),
      )
    })

  command
    .command('show <destination>')
    .description('show a destination')
    .action(async (wanted: string, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      await tell(api, out, await findDestination(api, wanted))
    })

  withSettings(command.command('create').argument('<name>', 'name of the destination'))
    .description('create a destination')
    .option('--off', 'create it switched off')
    .action(async (name: string, options: Settings, self: Command) => {
      const [forEndpoints] = endpointFlags.filter((name) => options[name] !== undefined)
      if (forEndpoints !== undefined && options.url === undefined)
        throw usageError(`${flagOf(self, forEndpoints)} needs --url`)
      expectHold(options, 'retry')
      const { api, out } = await openSession(self)
      const input: z.input<typeof NewDestinationSchema> = {
        name,
        type: 'webhooks',
        enabled: options.off !== true,
        sourceIds: await sourceIds(api, options.source ?? []),
        settings: { webhooks: newWebhooks(options), ...secretOf(options) },
        ...(options.successPolicy !== undefined && { successPolicy: options.successPolicy }),
        ...failingSettings(options),
        ...(await shapeOf(options)),
      }
      await tell(api, out, await answerOf(api.POST('/destinations', { body: input })))
    })

  withSettings(command.command('update <destination>'))
    .description('change a destination; given sources and endpoints replace all those it has')
    .option('--name <name>', 'its new name')
    .option('--no-filter', 'remove its filter: it takes all events')
    .option('--no-mapping', 'remove its mapping: events are sent as they are')
    .option(
      '--secret-overlap <duration>',
      'how long requests are signed with the old secret, too, such as 24h (at most 30d)',
      durationWithin(0, maxSecretOverlapSeconds),
    )
    .action(async (wanted: string, options: Settings & { secretOverlap?: number }, self: Command) => {
      const { secretOverlap } = options
      expectChange(self)
      if (secretOverlap !== undefined && options.secretEnv === undefined)
        throw usageError('--secret-overlap needs --secret-env')
      if (options.header !== undefined && options.url === undefined) throw usageError('--header needs --url')
      const { api, out } = await openSession(self)
      const { id, settings, onFailing } = await findDestination(api, wanted)
      expectHold(options, onFailing)
      const webhooks = changedWebhooks(options, settings.webhooks)
      const change = {
        name: options.name,
        successPolicy: options.successPolicy,
        ...failingSettings(options),
        ...(await shapeOf(options)),
        ...(options.source !== undefined && { sourceIds: await sourceIds(api, options.source) }),
        settings: {
          ...(webhooks !== undefined && { webhooks }),
          ...secretOf(options),
          ...(secretOverlap !== undefined && { secretOverlapSeconds: secondsOf(secretOverlap) }),
        },
      }
      await tell(api, out, await answerOf(api.PATCH('/destinations/{id}', { params: { path: { id } }, body: change })))
    })

  const switches = [
    { name: 'pause', change: { paused: true }, what: 'hold its deliveries until it is resumed' },
    { name: 'resume', change: { paused: false }, what: 'send what was held, and continue' },
    { name: 'enable', change: { enabled: true }, what: 'switch it on' },
  ]
  for (const { name, change, what } of switches)
    command
      .command(`${name} <destination>`)
      .description(what)
      .action(async (wanted: string, _options: unknown, self: Command) => {
        const { api, out } = await openSession(self)
        const { id } = await findDestination(api, wanted)
        await tell(
          api,
          out,
          await answerOf(api.PATCH('/destinations/{id}', { params: { path: { id } }, body: change })),
        )
      })

  command
    .command('disable <destination>')
    .description('switch it off: it gets no events, and deliveries that wait for it are discarded')
    .option('--yes', 'do not ask for confirmation')
    .action(async (wanted: string, options: { yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const { id, name, paused } = await findDestination(api, wanted)
      if (options.yes !== true) await confirmDiscard(api, { id, name, paused })
      const body = { enabled: false }
      await tell(api, out, await answerOf(api.PATCH('/destinations/{id}', { params: { path: { id } }, body })))
    })

  command
    .command('test <destination>')
    .description('send a sample event to each endpoint now, and show the responses')
    .addOption(new Option('--type <type>', 'type of the sample event').choices(messageTypes).default('track'))
    .action(async (wanted: string, { type }: { type: MessageType }, self: Command) => {
      const { api, out } = await openSession(self)
      const { id } = await findDestination(api, wanted)
      const answer = await answerOf(api.POST('/destinations/{id}/test', { params: { path: { id } }, body: { type } }))
      out.result(answer, ({ results }) =>
        table(
          ['endpoint', 'result', 'status', 'ms', 'error'],
          results.map((result) => [result.url, result.outcome, result.status, result.durationMs, result.error]),
          'The destination has no endpoints.',
        ),
      )
      if (answer.results.length === 0)
        throw new CommandError(
          'failed',
          `nothing was sent; add an endpoint with: postrider destinations update ${id} --url <url>`,
        )
      const failed = answer.results.filter(({ outcome }) => outcome !== 'delivered')
      if (failed.length > 0)
        throw new CommandError(
          'failed',
          `${failed.length} of ${answer.results.length} endpoints did not accept the event`,
        )
    })

  command
    .command('rehearse <destination>')
    .description('try a filter and a mapping on the newest events of its sources; nothing is sent')
    .option('--filter <file>', 'file with the filter in YAML or JSON; - for input; unless given, the one it has')
    .option('--no-filter', 'try it without a filter')
    .option('--mapping <file>', 'file with the mapping in YAML or JSON; - for input; unless given, the one it has')
    .option('--no-mapping', 'try it without a mapping')
    .option('--limit <count>', 'events that it is tried on, 1 to 100 (50 unless given)', wholeNumber(1, maxRehearsed))
    .action(async (wanted: string, { limit, ...options }: Settings & { limit?: number }, self: Command) => {
      const { api, out } = await openSession(self)
      const { id } = await findDestination(api, wanted)
      const draft = { ...(await shapeOf(options)), limit }
      out.result(
        await answerOf(api.POST('/destinations/{id}/rehearse', { params: { path: { id } }, body: draft })),
        showRehearsal,
      )
    })

  command
    .command('delete <destination>')
    .description('delete a destination; deliveries that wait for it are discarded')
    .option('--yes', 'do not ask for confirmation')
    .action(async (wanted: string, options: { yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const destination = await findDestination(api, wanted)
      await confirm(`Delete the destination ${destination.name}? Deliveries that wait for it are discarded.`, options)
      await answerOf(api.DELETE('/destinations/{id}', { params: { path: { id: destination.id } } }))
      out.result({ deleted: destination.id }, () => `Deleted ${destination.id}.`)
    })
  return command
}

/** Options that say something of the endpoints that are given. */
const endpointFlags = [
  'header',
  'method',
  'contentType',
  'timeout',
  'successStatus',
  'maxPerSecond',
  'maxConcurrent',
  'endpointRetryWindow',
  'endpointRetryPauses',
] as const

const flagOf = ({ options }: Command, name: string): string =>
  options.find((option) => option.attributeName() === name)?.long ?? name

/** @param before  what the destination does while it fails
 *  @throws CommandError (usage) when it is to hold deliveries after a time, but not at all */
function expectHold({ onFailing, holdAfter }: Settings, before: Destination['onFailing']): void {
  if (holdAfter !== undefined && (onFailing ?? before) !== 'hold')
    throw usageError('--hold-after needs --on-failing hold')
}

/** A window in milliseconds, as the API has it. */
const hoursOf = (window: OrNone<number>): number | null => (window === 'none' ? null : window / 3_600_000)

const failingSettings = ({ onFailing, holdAfter, retryWindow, retryPauses, orderPerUser }: Settings) => ({
  ...(onFailing !== undefined && { onFailing }),
  ...(holdAfter !== undefined && { holdAfterSeconds: secondsOf(holdAfter) }),
  ...(retryWindow !== undefined && { retryWindowHours: hoursOf(retryWindow) }),
  ...(retryPauses !== undefined && { retryPauses: nullIfNone(retryPauses) }),
  ...(orderPerUser !== undefined && {
    orderPerUser: orderPerUser === 'none' ? null : { maxWaitSeconds: secondsOf(orderPerUser) },
  }),
})

const showRehearsal = ({ tried, sent, changed, dropped, failed, items }: Rehearsal): string =>
  [
    `Of the newest ${tried} events of its sources it takes ${sent} and leaves out ${dropped}. Nothing was sent.`,
    `The mapping changes ${changed} of them, and cannot be applied to ${failed} others.`,
    '',
    table(
      ['message id', 'type', 'came in', 'outcome', 'reason'],
      items.map(({ messageId, at, outcome, reason, before }) => [
        messageId,
        String(before['type']),
        at,
        outcome,
        reason,
      ]),
      'No event is recorded.',
    ),
  ].join('\n')

/** Where deliveries stand that end as discarded when their destination is switched off. */
const waitingStatuses = ['queued', 'delivering', 'retrying', 'held'] as const

/** Asks whether what waits for a destination may be discarded; not where nothing waits.
 *  @throws CommandError when it may not */
async function confirmDiscard(
  api: Api,
  { id, name, paused }: Pick<DestinationView, 'id' | 'name' | 'paused'>,
): Promise<void> {
  const counts = await Promise.all(
    waitingStatuses.map((status) =>
      answerOf(api.GET('/deliveries/count', { params: { query: { status, destinationId: id } } })),
    ),
  )
  const waiting = counts.reduce((sum, { count }) => sum + count, 0)
  if (waiting === 0) return
  const discards = waiting === 1 ? '1 delivery that waits for it is' : `${waiting} deliveries that wait for it are`
  const instead = paused ? '' : ` To keep what waits, pause it instead: postrider destinations pause ${id}.`
  await confirm(`${discards} discarded when ${name} is switched off.${instead} Switch it off?`, {})
}

async function sourceIds(api: Api, wanted: string[]): Promise<string[]> {
  if (wanted.length === 0) return []
  const sources = await listSources(api)
  return wanted.map((one) => pick('source', sources, one).id)
}

const newWebhooks = ({ url = [], header, ...options }: Settings) =>
  url.map((target) => ({ url: target, ...(header !== undefined && { headers: header }), ...endpointOptions(options) }))

/** The endpoints that are given, or else those that there are with the options that are given; undefined: they stay as they are. */
function changedWebhooks(options: Settings, present: readonly { id: string; url: string }[]) {
  if (options.url !== undefined) return newWebhooks(options)
  const given = endpointOptions(options)
  return Object.keys(given).length === 0 ? undefined : present.map(({ id, url }) => ({ id, url, ...given }))
}

const endpointOptions = ({
  method,
  contentType,
  timeout,
  successStatus,
  maxPerSecond,
  maxConcurrent,
  endpointRetryWindow,
  endpointRetryPauses,
}: Settings): DifferingOptions => ({
  ...(method !== undefined && { method }),
  ...(contentType !== undefined && { contentType }),
  ...(timeout !== undefined && { timeoutSeconds: timeout / 1_000 }),
  ...(successStatus !== undefined && { successStatuses: successStatus }),
  ...(maxPerSecond !== undefined && { maxPerSecond: nullIfNone(maxPerSecond) }),
  ...(maxConcurrent !== undefined && { maxConcurrent: nullIfNone(maxConcurrent) }),
  ...(endpointRetryWindow !== undefined && { retryWindowHours: hoursOf(endpointRetryWindow) }),
  ...(endpointRetryPauses !== undefined && { retryPauses: nullIfNone(endpointRetryPauses) }),
})

/** Filter and mapping, as far as they are given. */
async function shapeOf({ filter, mapping }: Settings): Promise<Pick<DestinationPatch, 'filter' | 'mapping'>> {
  if (filter === '-' && mapping === '-') throw usageError('--filter and --mapping cannot both be read from the input')
  return {
    ...(filter !== undefined && { filter: await readShape<DestinationPatch['filter']>(filter) }),
    ...(mapping !== undefined && { mapping: await readShape<DestinationPatch['mapping']>(mapping) }),
  }
}

/** As the file has it: the node says what is wrong with it. */
async function readShape<Shape>(file: string | false): Promise<Shape | null> {
  if (file === false) return null
  return parseYaml(await readInput(file), file === '-' ? 'standard input' : file) as Shape
}

/** From the environment: other users of the machine can read command lines. */
function secretOf({ secretEnv }: Settings): { sharedSecret?: string } {
  if (secretEnv === undefined) return {}
  return { sharedSecret: environmentVariable(process.env, secretEnv) }
}
