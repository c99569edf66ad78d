/** Visibility queries over deliveries, in a form that the database of the embedded server answers by one of its indexes.
 *  SQLite has no figures about its tables there: it guesses, and prefers an index of the status to any other. */

import type { OutcomeAttribute, ResultAttribute } from '../contracts/delivery.ts'
import { moreDestinations, resultAt, type SearchAttributeName } from '../contracts/names.ts'
import type { DeliveryFilter } from '../schemas/delivery.ts'
import { keyword } from './keyword.ts'
import type { NamesInTemporal } from './names-in-temporal.ts'

/** A filter with the values that Temporal may have for the names in it. */
export type StoredFilter = Omit<DeliveryFilter, StoredName> & { [name in StoredName]?: readonly string[] | undefined }
type StoredName = 'messageId' | 'userId' | 'event'

export const storedFilter = (
  { messageId, userId, event, ...others }: DeliveryFilter,
  names: NamesInTemporal,
): StoredFilter => ({
  ...others,
  ...(messageId !== undefined && { messageId: names.values('message', messageId) }),
  ...(userId !== undefined && { userId: names.values('user', userId) }),
  ...(event !== undefined && { event: names.values('event', event) }),
})

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

/** Queries that have no delivery in common and together find those of the filter. A status beside a destination is where a delivery
 *  stands there.
 *  @param pausedDestinations  ids of the destinations that hold their deliveries now */
export const deliveryQueries = (filter: StoredFilter, pausedDestinations: readonly string[]): string[] => [
  ...wholeQueries(filter, pausedDestinations, asksForResult(filter) ? sameEverywhere : ''),
  ...resultQueries(filter, pausedDestinations),
]

/** The same by the status as a whole.
 *  @param also  what else they have to fulfil */
export const wholeQueries = (filter: StoredFilter, pausedDestinations: readonly string[], also: string): string[] =>
  statusesOf(filter.status, pausedDestinations).flatMap(({ condition = '', ...status }) =>
    queriesOf(filter, { ...status, condition: allOf(condition, also) }),
  )

/** Those of deliveries whose destinations differ, by where they stand at that of the filter. */
export const resultQueries = (filter: StoredFilter, pausedDestinations: readonly string[]): string[] =>
  resultsOf(filter, pausedDestinations).map((result) => queryOf(elsewhere(filter), result))

/** Deliveries of the filter whose destinations differ, wherever they go. */
export const differingQuery = (filter: StoredFilter): string =>
  queryOf(elsewhere(filter), { condition: 'PostriderResults IS NOT NULL' })

/** No destination of its own is partly delivered: the deliveries that are, as a whole. */
const asksForResult = ({ destinationId, status }: StoredFilter): boolean =>
  destinationId !== undefined && status !== undefined && status !== 'partly_delivered'

/** Where a delivery stands at a destination is where it stands as a whole; also of deliveries that began with an early version. */
export const sameEverywhere = 'PostriderResults IS NULL'

const elsewhere = ({ destinationId: _, ...filter }: StoredFilter): StoredFilter => filter

/** One query for all deliveries of the filter; Temporal may have to go through every delivery for it. */
export function deliveryQuery(filter: StoredFilter, pausedDestinations: readonly string[]): string {
  const conditionOf = ({ rare, common, condition = '' }: Status): string =>
    allOf(...[rare, common].flatMap((one) => (one === undefined ? [] : [equals(one)])), condition)
  const whole = statusesOf(filter.status, pausedDestinations)
    .map(conditionOf)
    .filter((status) => status !== '')
    .map((status) => (asksForResult(filter) ? allOf(status, sameEverywhere) : status))
  return allOf(
    equals(isDelivery),
    ...valuesOf(filter).map(equals),
    destinationOf(filter),
    timesOf(filter),
    anyOf([...whole, ...resultsOf(filter, pausedDestinations).map(conditionOf)]),
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

/** Deliveries that are tried again at any of some destinations; none is found by both. */
export function retriedQueries(destinationIds: readonly string[], pausedDestinations: readonly string[]): string[] {
  const ids = destinationIds.filter((id) => !pausedDestinations.includes(id))
  if (ids.length === 0) return []
  const condition = allOf(
    alsoEquals(isRunning),
    sameEverywhere,
    toAnyOf(ids),
    pausedDestinations.length === 0 ? '' : toNoneOf(pausedDestinations),
  )
  const retried = equality('PostriderResults', ...ids.map((id) => resultAt(id, 'retrying')))
  return [
    queryOf({}, { rare: hasOutcome('retrying'), condition }),
    queryOf({}, { rare: retried, condition: alsoEquals(isRunning) }),
  ]
}

/** A status, or a part of it. */
interface Status {
  /** What few deliveries have. */
  rare?: Equality
  /** What most may have. */
  common?: Equality
  /** What remains to be checked. */
  condition?: string
}

function queriesOf(filter: StoredFilter, status: Status): string[] {
  const { destinationId, messageId, userId } = filter
  const isFew = [messageId, userId, status.rare].some((one) => one !== undefined)
  if (destinationId === undefined || isFew) return [queryOf(filter, status)]
  const { common, condition = '' } = status
  return destinationPlaces(keyword(destinationId)).map(({ place, listed }) =>
    ledByFirst([place, ...valuesOf(filter), common], listed, timesOf(filter), condition),
  )
}

function queryOf(filter: StoredFilter, { rare, common, condition = '' }: Status): string {
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

function valuesOf(filter: StoredFilter): Equality[] {
  return (Object.keys(attributes) as (keyof typeof attributes)[]).flatMap((member) => {
    const value = filter[member]
    if (value === undefined) return []
    return [equality(attributes[member], ...(typeof value === 'string' ? [keyword(value)] : value))]
  })
}

const timesOf = ({ since, until }: StoredFilter): string =>
  allOf(
    since === undefined ? '' : startedSince(quote(new Date(since).toISOString())),
    until === undefined ? '' : startedBefore(new Date(until)),
  )

/** What left its parcel started there, before its own workflow did: the first condition holds for it, too, and has an index. */
const startedSince = (time: string): string =>
  `StartTime >= ${time} AND (PostriderAcceptedAt IS NULL OR PostriderAcceptedAt >= ${time})`

/** Deliveries that started before a moment, those among them that left their parcel later, too. */
export const startedBefore = (moment: Date): string =>
  anyOf([`StartTime < ${quote(moment.toISOString())}`, leftParcelOfBefore(moment)])

/** Deliveries that left a parcel, and started in it before a moment. */
export const leftParcelOfBefore = (moment: Date): string => `PostriderAcceptedAt < ${quote(moment.toISOString())}`

const destinationOf = ({ destinationId }: StoredFilter): string =>
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

/** Of deliveries to some of these destinations, those that wait for their next attempt there. */
const waitingAt = (ids: readonly string[]): string => anyOf([sameEverywhere, `PostriderResults IN ${retriedAt(ids)}`])

/** Those that wait for none of them, but for another one. */
const settledAt = (ids: readonly string[]): string =>
  allOf('PostriderResults IS NOT NULL', `PostriderResults NOT IN ${retriedAt(ids)}`)

const retriedAt = (ids: readonly string[]): string => listOf(ids.map((id) => resultAt(keyword(id), 'retrying')))

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
      const condition = isAnyPaused ? anyOf([toNoneOf(pausedDestinations), settledAt(pausedDestinations)]) : ''
      return [{ rare: hasOutcome('retrying'), condition: allOf(running, condition) }]
    }
    case 'held': {
      const held = { rare: hasOutcome('held'), condition: running }
      if (!isAnyPaused) return [held]
      const condition = allOf(running, toAnyOf(pausedDestinations), waitingAt(pausedDestinations))
      return [held, { rare: hasOutcome('retrying'), condition }]
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

/** What deliveries have whose destinations differ, by where they stand at that of the filter. */
function resultsOf({ destinationId, status }: StoredFilter, pausedDestinations: readonly string[]): Status[] {
  if (destinationId === undefined || status === undefined) return []
  const id = keyword(destinationId)
  const is = (...results: ResultAttribute[]): Equality =>
    equality('PostriderResults', ...results.map((result) => resultAt(id, result)))
  const running = alsoEquals(isRunning)
  const isPaused = pausedDestinations.includes(destinationId)
  const endedOpen = (names: readonly string[]): Status => ({
    rare: is('delivering', 'retrying', 'held'),
    condition: alsoEquals(equality('ExecutionStatus', ...names)),
  })
  switch (status) {
    case 'queued':
    case 'partly_delivered':
      return []
    case 'delivering':
      return [{ rare: is('delivering'), condition: running }]
    case 'retrying':
      return isPaused ? [] : [{ rare: is('retrying'), condition: running }]
    case 'held':
      return [{ rare: isPaused ? is('held', 'retrying') : is('held'), condition: running }]
    case 'delivered':
    case 'discarded':
      return [{ rare: is(status) }]
    case 'failed':
      return [{ rare: is('failed') }, endedOpen(unsuccessful.failed)]
    case 'cancelled':
      return [endedOpen(unsuccessful.cancelled)]
  }
}

/** Those whose workflows have not completed. The status comes first: grouped by it, SQLite takes no other index.
 *  @param condition  what else they have to fulfil, here and below */
export const uncompletedQuery = (filter: StoredFilter, condition: string): string => {
  const statuses = ['Running', ...unsuccessful.failed, ...unsuccessful.cancelled]
  const equalities = [equality('ExecutionStatus', ...statuses), ...valuesOf(filter)]
  return ledByFirst(equalities, destinationOf(filter), timesOf(filter), condition)
}

/** Those that only some of their destinations took; the workflow failed where a destination did. */
export const partlyQuery = (filter: StoredFilter, condition: string): string =>
  queryOf(filter, { rare: hasOutcome('partly_delivered'), condition })

/** Those that count as delivered although their workflow has not ended. */
export const deliveredEarlyQuery = (filter: StoredFilter, condition: string): string =>
  queryOf(filter, { ...deliveredEarly, condition: allOf(deliveredEarly.condition, condition) })

const deliveredEarly = { rare: hasOutcome('delivered'), condition: alsoEquals(isRunning) } satisfies Status

/** How Temporal has the statuses of a delivery that has ended without success. */
export const unsuccessful = { failed: ['Failed', 'TimedOut'], cancelled: ['Canceled', 'Terminated'] }
