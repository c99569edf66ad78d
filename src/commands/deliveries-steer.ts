/** `postrider deliveries retry|redeliver|cancel`: one by one, or all that match. */

import { answerOf } from '@postrider/api'
import { Command } from 'commander'
import type {
  BulkSteering,
  DeliverySteered,
  RedeliveryPart,
  Steerable,
  SteeringAction,
  SteeringObstacle,
  DeliveryFilter,
} from '../schemas/delivery.ts'
import type { Api } from './shared/api.ts'
import { readFilter, withFilters, type FilterOptions } from './shared/delivery-filter.ts'
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
  unlessRedelivered?: true
  all?: true
  why?: string
  yes?: true
  timeout: number
}

export const steerCommand = (action: SteeringAction, description: string): Command =>
  withPart(withFilters(new Command(action)), action)
    .description(`${description}: those with the given ids, or all that match the filter`)
    .argument('[id...]', 'ids of deliveries')
    .option('--all', 'all deliveries, without a filter')
    .option('--why <reason>', 'reason, kept in the history of each delivery')
    .option('--yes', 'do not ask for confirmation')
    .addOption(timeoutOption('how long to wait until all are done', '10m'))
    .action(async (ids: string[], options: SteerOptions, self: Command) => {
      const { api, out } = await openSession(self)
      const filter = await readFilter(api, options)
      const { why, unlessRedelivered } = options
      const order = { why, unlessRedelivered, only: await readPart(api, options) }
      if (ids.length > 0) {
        if (Object.keys(filter).length > 0 || options.all) throw usageError('give either ids or a filter')
        return steerEach(api, out, action, ids, order)
      }
      if (Object.keys(filter).length === 0 && !options.all)
        throw usageError('give ids, or a filter such as --status, or --all')
      return steerAll(self, action, filter, order, options)
    })

const withPart = (command: Command, action: SteeringAction): Command =>
  action !== 'redeliver'
    ? command
    : command
        .option('--only-destination <destination>', 'send to this destination only, by id or name')
        .option('--only-endpoint <endpoint>', 'send to this endpoint only')
        .option('--unless-redelivered', 'leave out deliveries that were redelivered before')

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
  unlessRedelivered: true | undefined
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
      const answer = await answerOf(api.POST(`/deliveries/{id}/${action}`, { params: { path: { id } }, body: order }))
      items.push({
        id,
        newId: 'id' in answer ? answer.id : null,
        became: 'became' in answer ? answer.became : null,
        error: null,
      })
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
  if (failure !== undefined)
    throw new CommandError(
      'failed',
      `${items.filter(({ error }) => error !== null).length} of ${ids.length} deliveries could not be changed`,
    )
}

async function steerAll(
  command: Command,
  action: SteeringAction,
  filter: DeliveryFilter,
  order: Order,
  { yes, timeout }: SteerOptions,
): Promise<void> {
  const { api, out } = await openSession(command)
  const counted = await answerOf(api.GET('/deliveries/steerable', { params: { query: { ...filter, action } } }))
  const { matched, steerable, obstacles } = counted
  if (steerable === 0) {
    const failures = obstacles.map(({ obstacle, count }) => ({ reason: obstacleTexts[obstacle], count }))
    out.result({ action, status: 'completed', matched, done: 0, failed: matched, failures }, () =>
      matched === 0 ? 'No deliveries match.' : `There is nothing to ${action}: ${countText(counted)}`,
    )
    return
  }
  await confirm(`${countText(counted)} ${verbs[action]} ${steerable === 1 ? 'it' : 'them'}?`, { yes: yes ?? false })
  const started = await answerOf(api.POST(`/deliveries/${action}`, { body: { ...filter, ...order } }))
  const bar = await startProgress(out, action, started.matched)
  let last: BulkSteering = started
  const until = AbortSignal.timeout(timeout)
  const waiting = (await openSession(command, until)).api
  const ended = await poll(until, async () => {
    last = await answerOf(waiting.GET('/deliveries/bulk/{id}', { params: { path: { id: started.id } } }))
    bar.update(last.done + last.failed)
    return last.status === 'running' ? undefined : last
  })
  bar.stop()
  out.result(last, ({ status, matched, done, failed, failures }) =>
    [
      `${action}: ${status}, ${done} of ${matched} done${failed > 0 ? `, ${failed} could not be changed` : ''}.`,
      ...failures.map(({ reason, count }) => `  ${count}: ${reason}`),
    ].join('\n'),
  )
  if (ended === undefined)
    throw new CommandError('timeout', `${action} is still running, and continues without this command`)
  if (ended.status !== 'completed') throw new CommandError('failed', `${action} ended early: ${ended.status}`)
}

/** How a question begins. */
const verbs: Record<SteeringAction, string> = { retry: 'Retry', redeliver: 'Redeliver', cancel: 'Cancel' }

/** Texts of what keeps an action from deliveries. */
const obstacleTexts: Record<SteeringObstacle, string> = {
  held: 'paused destinations hold them; resume those to send them',
  over: 'they have already ended',
  under_way: 'they have not ended yet',
  queued: 'they wait in the inbox and are sent in their turn',
  no_destination: 'their destinations were deleted or are switched off',
  gone: 'they no longer exist',
}

/** What is said before the question: how many match, how many of them are left out, and why. */
function countText({ matched, steerable, obstacles, redelivered = 0 }: Steerable): string {
  const match = matched === 1 ? '1 delivery matches' : `${matched} deliveries match`
  if (obstacles.length === 0 && redelivered === 0) return `${match}.`
  const left = obstacles.map(({ obstacle, count }) => `not possible for ${count}: ${obstacleTexts[obstacle]}`)
  return [
    [`${match}, ${steerable} can be changed`, ...left].join('; ') + '.',
    ...(redelivered > 0 ? [`${redelivered} of them ${redelivered === 1 ? 'was' : 'were'} redelivered before.`] : []),
  ].join(' ')
}
