/** `postrider deliveries retry|redeliver|cancel`: one by one, or all that match. */

import { Command } from 'commander'
import { z } from 'zod'
import {
  BulkSteeringSchema,
  DeliverySteeredSchema,
  type BulkSteering,
  type DeliverySteered,
  type RedeliveryPart,
  type SteeringAction,
} from '../schemas/delivery.ts'
import { segment, type Api } from './shared/api.ts'
import { countDeliveries, readFilter, withFilters, type FilterOptions } from './shared/delivery-filter.ts'
import { CommandError, usageError } from './shared/failure.ts'
import { findDestination } from './shared/lookup.ts'
import { poll } from './shared/poll.ts'
import { confirm } from './shared/prompt.ts'
import { timeoutOption } from './shared/options.ts'
import type { Output } from './shared/output.ts'
import { startProgress } from './shared/progress.ts'
import { openSession } from './shared/session.ts'

interface SteerOptions extends FilterOptions {
  onlyDestination?: string
  onlyEndpoint?: string
  all?: true
  why?: string
  yes?: true
  timeout: number
}

const AnswerSchema = z.object({ id: z.string().optional(), became: DeliverySteeredSchema.optional() })

export const steerCommand = (action: SteeringAction, description: string): Command =>
  withPart(withFilters(new Command(action)), action)
    .description(`${description}: those of the ids, or all that match the filter`)
    .argument('[id...]', 'ids of deliveries')
    .option('--all', 'all deliveries, without a filter')
    .option('--why <reason>', 'kept in the history of each delivery')
    .option('--yes', 'do not ask')
    .addOption(timeoutOption('how long to wait for all that match', '10m'))
    .action(async (ids: string[], options: SteerOptions, self: Command) => {
      const { api, out } = await openSession(self)
      const filter = await readFilter(api, options)
      const order = { why: options.why, only: await readPart(api, options) }
      if (ids.length > 0) {
        if (Object.keys(filter).length > 0 || options.all) throw usageError('give either ids or a filter')
        return steerEach(api, out, action, ids, order)
      }
      if (Object.keys(filter).length === 0 && !options.all)
        throw usageError('give ids, or a filter such as --status, or --all')
      return steerAll(api, out, action, filter, order, options)
    })

const withPart = (command: Command, action: SteeringAction): Command =>
  action !== 'redeliver'
    ? command
    : command
        .option('--only-destination <destination>', 'to this one of its destinations alone, by id or name')
        .option('--only-endpoint <id>', 'to this one of its endpoints alone')

/** To whom of several an event is sent again. */
async function readPart(
  api: Api,
  { onlyDestination, onlyEndpoint }: SteerOptions,
): Promise<RedeliveryPart | undefined> {
  if (onlyDestination === undefined && onlyEndpoint === undefined) return undefined
  return {
    ...(onlyDestination !== undefined && { destinationId: (await findDestination(api, onlyDestination)).id }),
    ...(onlyEndpoint !== undefined && { endpointId: onlyEndpoint }),
  }
}

/** What goes with each call. */
interface Order {
  why: string | undefined
  only: RedeliveryPart | undefined
}

interface Steered {
  id: string
  /** Id of the repeated delivery, where the action makes one. */
  newId: string | null
  /** What became of it, where the action says. */
  became: DeliverySteered | null
  error: string | null
}

/** One that cannot be steered does not keep the others from it. */
async function steerEach(api: Api, out: Output, action: SteeringAction, ids: string[], order: Order): Promise<void> {
  const items: Steered[] = []
  let failure: CommandError | undefined
  for (const id of ids) {
    try {
      const answer = await api.call('POST', `/deliveries/${segment(id)}/${action}`, AnswerSchema, order)
      items.push({ id, newId: answer.id ?? null, became: answer.became ?? null, error: null })
    } catch (error) {
      if (!(error instanceof CommandError) || !['failed', 'notFound'].includes(error.exit)) throw error
      failure = error
      items.push({ id, newId: null, became: null, error: error.message })
    }
  }
  if (failure !== undefined && ids.length === 1) throw failure
  out.result({ action, items }, () =>
    items
      .map(({ id, newId, became, error }) => {
        const outcome = error ?? became
        return `${action}: ${id}${newId ? ` as ${newId}` : ''}${outcome ? `: ${outcome}` : ''}`
      })
      .join('\n'),
  )
  if (failure !== undefined) throw new CommandError('failed', `${action} was not possible for all`)
}

async function steerAll(
  api: Api,
  out: Output,
  action: SteeringAction,
  filter: Record<string, string>,
  { why, only }: Order,
  { yes, timeout }: SteerOptions,
): Promise<void> {
  const matching = await countDeliveries(api, filter)
  if (matching === 0) {
    out.result(
      { action, status: 'completed', matched: 0, done: 0, failed: 0, failures: [] },
      () => 'No deliveries match.',
    )
    return
  }
  await confirm(`${matching} deliveries match. ${action} them?`, { yes: yes ?? false })
  const started = await api.call('POST', `/deliveries/${action}`, BulkSteeringSchema, { ...filter, why, only })
  const bar = await startProgress(out, action, started.matched)
  let last: BulkSteering = started
  const ended = await poll(timeout, async () => {
    last = await api.call('GET', `/deliveries/bulk/${segment(started.id)}`, BulkSteeringSchema)
    bar.update(last.done + last.failed)
    return last.status === 'running' ? undefined : last
  })
  bar.stop()
  out.result(last, ({ status, matched, done, failed, failures }) =>
    [
      `${action}: ${status}, ${done} of ${matched} done${failed > 0 ? `, ${failed} could not be` : ''}.`,
      ...failures.map(({ reason, count }) => `  ${count}: ${reason}`),
    ].join('\n'),
  )
  if (ended === undefined) throw new CommandError('timeout', `${started.id} is still running; it goes on by itself`)
  if (ended.status !== 'completed') throw new CommandError('failed', `${started.id} ${ended.status}`)
}
