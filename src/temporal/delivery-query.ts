/** Visibility queries over deliveries, in a form that the database of the embedded server answers by one of its indexes.
 *  SQLite has no figures about its tables there: it guesses, and prefers an index of the status to any other. */

import type { OutcomeAttribute } from '../contracts/delivery.ts'
import { moreDestinations, type SearchAttributeName } from '../contracts/names.ts'
import type { DeliveryFilter } from '../schemas/delivery.ts'
import { keyword } from './search-attributes.ts'

/** Names of Temporal's own search attributes that have a value in every workflow. */
type OwnAttribute = 'ExecutionStatus' | 'WorkflowType'

/** An attribute that has one of some values. */
interface Equality {
  name: SearchAttributeName | OwnAttribute
  values: readonly string[]
}

const equality = (name: Equality['name'], ...values: string[]): Equality => ({ name, values })

/** A string literal of the query language; values have been through `keyword`, or have no quotes by nature. */
const quote = (value: string): string => `'${value}'`

const listOf = (values: readonly string[]): string => `(${values.map(quote).join(', ')})`

const equals = ({ name, values }: Equality): string => `${name} IN ${listOf(values)}`

/** The same, for which SQLite takes no index. */
const alsoEquals = ({ name, values }: Equality): string => `NOT ${name} NOT IN ${listOf(values)}`

const allOf = (...parts: string[]): string => parts.filter((part) => part !== '').join(' AND ')
const anyOf = (parts: string[]): string =>
  parts.length > 1 ? `(${parts.map((part) => `(${part})`).join(' OR ')})` : (parts[0] ?? '')

const isDelivery = equality('WorkflowType', 'deliverEvent')
const isRunning = equality('ExecutionStatus', 'Running')
const isCompleted = equality('ExecutionStatus', 'Completed')
const hasOutcome = (value: OutcomeAttribute): Equality => equality('PostriderOutcome', value)

/** Queries that have no delivery in common and together find those of the filter.
 *  @param pausedDestinations  ids of the destinations that hold their deliveries now */
export function deliveryQueries(filter: DeliveryFilter, pausedDestinations: readonly string[]): string[] {
  return statusesOf(filter.status, pausedDestinations).flatMap((status) => queriesOf(filter, status))
}

/** One query for all deliveries of the filter; Temporal may have to go through every delivery for it. */
export function deliveryQuery(filter: DeliveryFilter, pausedDestinations: readonly string[]): string {
  const statuses = statusesOf(filter.status, pausedDestinations).map(({ rare, common, condition = '' }) =>
    allOf(...[rare, common].flatMap((one) => (one === undefined ? [] : [equals(one)])), condition),
  )
  return allOf(
    equals(isDelivery),
    ...valuesOf(filter).map(equals),
    destinationOf(filter),
    timesOf(filter),
    anyOf(statuses.filter((status) => status !== '')),
  )
}

/** Deliveries that wait for a destination.
 *  @param untriedSince  those that started before it and have no outcome yet wait for their turn at an endpoint; later
 *    ones may be in their first attempt, which a signal could make happen twice */
export const waitingQuery = (destinationId: string, untriedSince: Date): string =>
  allOf(
    equals(isDelivery),
    equals(isRunning),
    toAnyOf([keyword(destinationId)]),
    `(PostriderOutcome IN ('held', 'retrying') OR (PostriderOutcome IS NULL AND StartTime < ${quote(untriedSince.toISOString())}))`,
  )

/** Deliveries that a destination holds, and no other one. */
export const heldQuery = (destinationId: string, pausedDestinations: readonly string[]): string =>
  allOf(
    equals(isDelivery),
    equals(isRunning),
    equals(hasOutcome('held')),
    toAnyOf([keyword(destinationId)]),
    pausedDestinations.length === 0 ? '' : toNoneOf(pausedDestinations),
  )

/** A status, or a part of it. */
interface Status {
  /** What few deliveries have. */
  rare?: Equality
  /** What most may have. */
  common?: Equality
  /** What remains to be checked. */
  condition?: string
}

function queriesOf(filter: DeliveryFilter, status: Status): string[] {
  const { destinationId, messageId, userId } = filter
  const isFew = [messageId, userId, status.rare].some((one) => one !== undefined)
  if (destinationId === undefined || isFew) return [queryOf(filter, status)]
  const { common, condition = '' } = status
  return destinationPlaces(keyword(destinationId)).map(({ place, listed }) =>
    ledByFirst([place, ...valuesOf(filter), common], listed, timesOf(filter), condition),
  )
}

function queryOf(filter: DeliveryFilter, { rare, common, condition = '' }: Status): string {
  const { messageId, userId, ...many } = filter
  const equalities = [...valuesOf({ messageId, userId }), rare, ...valuesOf(many), common]
  return ledByFirst(equalities, destinationOf(filter), timesOf(filter), condition)
}

/** The first of the equalities finds the deliveries, by its index; everything else is looked at in each. */
function ledByFirst(equalities: (Equality | undefined)[], ...conditions: string[]): string {
  const given = equalities.filter((one) => one !== undefined)
  // Only deliveries have attributes of ours. A condition on the type would make a count read each of them.
  const isOurs = given.some(({ name }) => name.startsWith('Postrider'))
  const [first = isDelivery, ...others] = isOurs ? given : [...given, isDelivery]
  return allOf(equals(first), unlessInDivision(first), ...others.map(alsoEquals), ...conditions)
}

/** Temporal asks that a workflow is in no division of its namespace, unless the query speaks of one, and reads that from
 *  each: 120 ms instead of 35 for a count of 100,000. No delivery is in one. */
const unlessInDivision = (first: Equality): string => `(${equals(first)} OR TemporalNamespaceDivision = 'none')`

/** Members of a filter that are attributes, those that few deliveries share first. */
const attributes = {
  messageId: 'PostriderMessageId',
  userId: 'PostriderUserId',
  event: 'PostriderEvent',
  sourceId: 'PostriderSource',
  type: 'PostriderType',
} as const

function valuesOf(filter: DeliveryFilter): Equality[] {
  return (Object.keys(attributes) as (keyof typeof attributes)[]).flatMap((member) => {
    const value = filter[member]
    return value === undefined ? [] : [equality(attributes[member], keyword(value))]
  })
}

const timesOf = ({ since, until }: DeliveryFilter): string =>
  allOf(
    since === undefined ? '' : `StartTime >= ${quote(new Date(since).toISOString())}`,
    until === undefined ? '' : `StartTime < ${quote(new Date(until).toISOString())}`,
  )

const destinationOf = ({ destinationId }: DeliveryFilter): string =>
  destinationId === undefined ? '' : toAnyOf([keyword(destinationId)])

/** Where a delivery can have a destination, each time by an equality; see `searchAttributes`. */
const destinationPlaces = (id: string): { place: Equality; listed: string }[] => [
  { place: equality('PostriderDestination1', id), listed: '' },
  { place: equality('PostriderDestination2', id), listed: '' },
  { place: equality('PostriderDestination2', moreDestinations), listed: `PostriderDestinations = ${quote(id)}` },
]

/** The attributes that may have a destination. */
const places: SearchAttributeName[] = ['PostriderDestination1', 'PostriderDestination2', 'PostriderDestinations']

const toAnyOf = (ids: readonly string[]): string =>
  `(${places.map((place) => `${place} IN ${listOf(ids)}`).join(' OR ')})`

/** Said without `NOT (…)`, which is not true where an attribute has no value. */
const toNoneOf = (ids: readonly string[]): string =>
  allOf(...places.map((place) => `(${place} IS NULL OR ${place} NOT IN ${listOf(ids)})`))

function statusesOf(status: DeliveryFilter['status'], pausedDestinations: readonly string[]): Status[] {
  const running = alsoEquals(isRunning)
  const isAnyPaused = pausedDestinations.length > 0
  switch (status) {
    case undefined:
      return [{}]
    case 'queued':
      throw new RangeError('queued events are not in Temporal')
    case 'delivering':
      return [{ rare: isRunning, condition: 'PostriderOutcome IS NULL' }]
    case 'retrying': {
      const condition = allOf(running, isAnyPaused ? toNoneOf(pausedDestinations) : '')
      return [{ rare: hasOutcome('retrying'), condition }]
    }
    case 'held': {
      const held = { rare: hasOutcome('held'), condition: running }
      if (!isAnyPaused) return [held]
      return [held, { rare: hasOutcome('retrying'), condition: allOf(running, toAnyOf(pausedDestinations)) }]
    }
    case 'delivered': {
      const toAll = "(PostriderOutcome IS NULL OR PostriderOutcome NOT IN ('discarded', 'partly_delivered'))"
      return [{ common: isCompleted, condition: toAll }, deliveredEarly]
    }
    case 'partly_delivered':
      return [{ rare: hasOutcome('partly_delivered') }]
    case 'discarded':
      return [{ rare: hasOutcome('discarded'), condition: alsoEquals(isCompleted) }]
    case 'failed': {
      const everywhere = "(PostriderOutcome IS NULL OR PostriderOutcome != 'partly_delivered')"
      return unsuccessful.failed.map((name) => ({ rare: equality('ExecutionStatus', name), condition: everywhere }))
    }
    case 'cancelled':
      return unsuccessful.cancelled.map((name) => ({ rare: equality('ExecutionStatus', name) }))
  }
}

/** Those whose workflows have not completed. The status comes first: grouped by it, SQLite takes no other index. */
export const uncompletedQuery = (filter: DeliveryFilter): string => {
  const statuses = ['Running', ...unsuccessful.failed, ...unsuccessful.cancelled]
  const equalities = [equality('ExecutionStatus', ...statuses), ...valuesOf(filter)]
  return ledByFirst(equalities, destinationOf(filter), timesOf(filter))
}

/** Those that only some of their destinations took; the workflow failed where a destination did. */
export const partlyQuery = (filter: DeliveryFilter): string => queryOf(filter, { rare: hasOutcome('partly_delivered') })

/** Those that count as delivered although their workflow has not ended. */
export const deliveredEarlyQuery = (filter: DeliveryFilter): string => queryOf(filter, deliveredEarly)

const deliveredEarly: Status = { rare: hasOutcome('delivered'), condition: alsoEquals(isRunning) }

/** How Temporal has the statuses of a delivery that has ended without success. */
export const unsuccessful = { failed: ['Failed', 'TimedOut'], cancelled: ['Canceled', 'Terminated'] }
