/** `postrider send`: sends one call, and follows its delivery. */

import { randomUUID } from 'node:crypto'
import { answerOf } from '@postrider/api'
import { Argument, Command } from 'commander'
import { mask } from '../delivery/headers.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import type { DeliveryDetail } from '../schemas/delivery.ts'
import { eventTypes } from '../schemas/message.ts'
import type { TurnedAwayFate } from '../schemas/turned-away.ts'
import type { Api } from './shared/api.ts'
import { attemptLine, deliveryFacts, readDelivery } from './shared/delivery-text.ts'
import { CommandError, usageError } from './shared/failure.ts'
import { readInput } from './shared/input.ts'
import { findSource, listDestinations, listSources } from './shared/lookup.ts'
import { jsonObject, timeoutOption } from './shared/options.ts'
import type { Output } from './shared/output.ts'
import { openSession } from './shared/session.ts'
import { poll } from './shared/poll.ts'

interface SendOptions {
  source?: string
  writeKey?: string
  data?: string
  wait: boolean
  timeout: number
  event?: string
  name?: string
  category?: string
  userId?: string
  anonymousId?: string
  groupId?: string
  previousId?: string
  messageId?: string
  timestamp?: string
  properties?: Record<string, unknown>
  traits?: Record<string, unknown>
  context?: Record<string, unknown>
  integrations?: Record<string, unknown>
}

const callMembers = [
  ...(['event', 'name', 'category', 'userId', 'anonymousId', 'groupId', 'previousId', 'messageId'] as const),
  ...(['timestamp', 'properties', 'traits', 'context', 'integrations'] as const),
]

const ended = new Set(['delivered', 'partly_delivered', 'failed', 'discarded', 'cancelled'])

export const sendCommand = (): Command =>
  new Command('send')
    .description('send one event, and follow its delivery')
    .addArgument(new Argument('<type>', 'type of the call').choices(eventTypes))
    .option('--source <source>', 'id or name of the source it comes from')
    .option('--write-key <key>', 'write key of the source (also: POSTRIDER_WRITE_KEY)')
    .option('--data <file>', 'file with the call as JSON, or - for standard input; other options override its members')
    .option('--event <name>', 'name of the event (track)')
    .option('--name <name>', 'name of the page or screen')
    .option('--category <category>', 'category of the page or screen')
    .option('--user-id <id>', 'id of the user')
    .option('--anonymous-id <id>', 'id of an anonymous user')
    .option('--group-id <id>', 'id of the group (group)')
    .option('--previous-id <id>', 'previous id of the user (alias)')
    .option('--message-id <id>', 'id of the message; a repeat is delivered only once (default: a new one)')
    .option('--timestamp <time>', 'when it happened, ISO 8601 (default: now)')
    .option('--properties <json>', 'a JSON object', jsonObject)
    .option('--traits <json>', 'a JSON object', jsonObject)
    .option('--context <json>', 'a JSON object', jsonObject)
    .option('--integrations <json>', 'a JSON object', jsonObject)
    .option('--no-wait', 'do not follow the delivery')
    .addOption(timeoutOption('how long to follow the delivery', '30s'))
    .action(async (type: string, options: SendOptions, command: Command) => send(type, options, command))

async function send(type: string, options: SendOptions, command: Command): Promise<void> {
  const body = await readCall(options)
  const until = AbortSignal.timeout(options.timeout)
  const { api, out } = await openSession(command, until)
  const messageId = messageIdOf(body) ?? `cli-${randomUUID()}`
  const source = await findSender(api, options)
  await api.ingest(`/${type}`, source.writeKey, { ...body, messageId })
  const unfollowed = await whyNotFollowed(api, options, source.id)
  if (source.id === undefined || unfollowed !== undefined) {
    out.result({ messageId, sourceId: source.id ?? null, deliveryId: null, delivery: null }, () =>
      `Accepted: ${messageId}. ${unfollowed ?? ''}`.trimEnd(),
    )
    return
  }
  out.note(`Accepted: ${messageId}`)
  await follow(api, out, { sourceId: source.id, messageId, until, timeoutMs: options.timeout })
}

async function readCall(options: SendOptions): Promise<Record<string, unknown>> {
  const given = Object.fromEntries(
    callMembers.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  )
  if (options.data === undefined) return given
  const text = await readInput(options.data)
  try {
    return { ...jsonObject(text), ...given }
  } catch {
    throw usageError(`${options.data === '-' ? 'standard input' : options.data} does not contain a JSON object`)
  }
}

/** Numbers are ids as well, as the node reads them. */
const messageIdOf = ({ messageId }: Record<string, unknown>): string | undefined =>
  typeof messageId === 'string' || typeof messageId === 'number' ? String(messageId) || undefined : undefined

/** The write key, and the source's id as far as the token can tell it. */
async function findSender(api: Api, options: SendOptions): Promise<{ writeKey: string; id: string | undefined }> {
  if (options.source !== undefined) {
    const source = await findSource(api, options.source)
    if (source.writeKey !== mask) return source
    throw new CommandError(
      'unauthorized',
      'the role viewer does not see write keys: give --write-key, or an admin token',
    )
  }
  const writeKey = options.writeKey ?? process.env['POSTRIDER_WRITE_KEY']
  if (!writeKey) throw usageError('give the source it comes from: --source <id or name> or --write-key <key>')
  if (!options.wait || !api.hasToken) return { writeKey, id: undefined }
  const source = (await listSources(api)).find((one) => one.writeKey === writeKey)
  return { writeKey, id: source?.id }
}

/** The reason to show no delivery; undefined when there will be one. */
async function whyNotFollowed(api: Api, { wait }: SendOptions, sourceId: string | undefined) {
  if (!wait) return ''
  if (!api.hasToken) return 'Its delivery can be shown only with a token: postrider login'
  if (sourceId === undefined) return 'Its delivery cannot be shown: the token may not see the source of this write key.'
  const connected = (await listDestinations(api)).some(
    ({ enabled, sourceIds }) => enabled && sourceIds.includes(sourceId),
  )
  return connected ? undefined : 'No destination is connected to the source, so it is not delivered.'
}

interface Followed {
  sourceId: string
  messageId: string
  /** Ends the wait, and every call with it. */
  until: AbortSignal
  timeoutMs: number
}

/** @throws CommandError with the reason when the event became no delivery */
async function expectTaken(api: Api, sourceId: string, messageId: string): Promise<void> {
  const query = { sourceId, messageId, limit: 1 }
  const [turnedAway] = (await answerOf(api.GET('/turned-away', { params: { query } }))).items
  if (turnedAway === undefined) return
  const { fate, message } = turnedAway
  throw new CommandError('failed', `it is not delivered: ${message ?? fates[fate]}`, { code: fate })
}

/** Reasons of events that became no delivery, where the node has no words of its own. */
const fates: Record<TurnedAwayFate, string> = {
  rejected: 'it was refused',
  filtered: 'its integrations or the filters of all destinations leave it out',
  no_destination: 'no destination that is switched on is connected to the source',
  suppressed: 'its user is suppressed by a deletion request',
  dropped: 'it could not be kept',
}

async function follow(api: Api, out: Output, { sourceId, messageId, until, timeoutMs }: Followed): Promise<void> {
  const id = eventWorkflowId(sourceId, messageId)
  let last: DeliveryDetail | undefined
  let shown = 0
  const delivery = await poll(until, async () => {
    last = await readDelivery(api, id)
    const attempts = last?.timeline ?? []
    for (const attempt of attempts.slice(shown)) out.note(attemptLine(attempt))
    shown = attempts.length
    if (last === undefined) await expectTaken(api, sourceId, messageId)
    return last !== undefined && ended.has(last.status) ? last : undefined
  })
  const result = delivery ?? last ?? null
  out.result({ messageId, sourceId, deliveryId: id, delivery: result }, () =>
    result === null ? `Delivery ${id} has not started yet.` : deliveryFacts(result),
  )
  if (delivery === undefined)
    throw new CommandError(
      'timeout',
      `not delivered within ${timeoutMs / 1000} s; follow it with: postrider deliveries show ${id}`,
    )
  if (delivery.status !== 'delivered') throw new CommandError('failed', `the delivery is ${delivery.status}`)
}
