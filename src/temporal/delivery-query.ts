/** Visibility queries over deliveries, and what a row of their answers says. */

import proto, { type temporal } from '@temporalio/proto'
import { defaultPayloadConverter } from '@temporalio/common'
import type { OutcomeAttribute } from '../contracts/delivery.ts'
import type { SearchAttributeName } from '../contracts/names.ts'
import type { Delivery, DeliveryFilter, StartedStatus } from '../schemas/delivery.ts'
import { fromKeyword, keyword } from './search-attributes.ts'

export type ExecutionInfo = temporal.api.workflow.v1.IWorkflowExecutionInfo

const Status = proto.temporal.api.enums.v1.WorkflowExecutionStatus

/** Names of Temporal's own search attributes that queries use. */
type OwnAttribute = 'ExecutionStatus' | 'StartTime' | 'WorkflowType'

const equals = (name: SearchAttributeName | OwnAttribute, value: string): string => `${name} = ${quote(value)}`

/** A string literal of the query language; values have been through `keyword`, or have no quotes by nature. */
const quote = (value: string): string => `'${value}'`

/** @param pausedDestinations  ids of the destinations that hold their deliveries now */
export function deliveryQuery(filter: DeliveryFilter, pausedDestinations: readonly string[]): string {
  const [first = '', ...others] = statusQueries(filter.status, pausedDestinations)
  const status = others.length === 0 ? first : `(${[first, ...others].join(' OR ')})`
  return allOf(filterQuery(filter), status)
}

/** The same in queries that have no delivery in common. For an `OR` of statuses SQLite goes through all workflows, but of
 *  one status it finds the newest at once: 1 ms instead of 120 among 100,000. */
export const deliveryQueries = (filter: DeliveryFilter, pausedDestinations: readonly string[]): string[] =>
  statusQueries(filter.status, pausedDestinations).map((status) => allOf(filterQuery(filter), status))

const allOf = (...parts: (string | false)[]): string =>
  parts.filter((part) => part !== false && part !== '').join(' AND ')

/** Without the status. */
function filterQuery({ sourceId, destinationId, type, userId, messageId, since, until }: DeliveryFilter): string {
  return allOf(
    equals('WorkflowType', 'deliverEvent'),
    sourceId !== undefined && equals('PostriderSource', keyword(sourceId)),
    destinationId !== undefined && equals('PostriderDestinations', keyword(destinationId)),
    type !== undefined && equals('PostriderType', type),
    userId !== undefined && equals('PostriderUserId', keyword(userId)),
    messageId !== undefined && equals('PostriderMessageId', keyword(messageId)),
    since !== undefined && `StartTime >= ${quote(new Date(since).toISOString())}`,
    until !== undefined && `StartTime < ${quote(new Date(until).toISOString())}`,
  )
}

/** How Temporal has the statuses of a delivery that has ended without success. */
const unsuccessful = { failed: ['Failed', 'TimedOut'], cancelled: ['Canceled', 'Terminated'] }

function statusQueries(status: DeliveryFilter['status'], pausedDestinations: readonly string[]): string[] {
  switch (status) {
    case undefined:
      return ['']
    case 'queued':
      throw new RangeError('queued events are not in Temporal')
    case 'failed':
    case 'cancelled':
      return unsuccessful[status].map((name) => equals('ExecutionStatus', name))
    default:
      return [statusQuery(status, pausedDestinations)]
  }
}

function statusQuery(
  status: Exclude<StartedStatus, 'failed' | 'cancelled'>,
  pausedDestinations: readonly string[],
): string {
  const running = equals('ExecutionStatus', 'Running')
  const outcome = (value: OutcomeAttribute): string => equals('PostriderOutcome', value)
  const onPaused = `PostriderDestinations IN (${pausedDestinations.map(quote).join(', ')})`
  switch (status) {
    case 'delivering':
      return `${running} AND PostriderOutcome IS NULL`
    case 'retrying':
      return `${running} AND ${outcome('retrying')}${pausedDestinations.length > 0 ? ` AND NOT ${onPaused}` : ''}`
    case 'held':
      return pausedDestinations.length > 0
        ? `${running} AND (${outcome('held')} OR (${outcome('retrying')} AND ${onPaused}))`
        : `${running} AND ${outcome('held')}`
    case 'delivered':
      return `((${equals('ExecutionStatus', 'Completed')} AND (PostriderOutcome IS NULL OR PostriderOutcome != 'discarded')) OR (${running} AND ${outcome('delivered')}))`
    case 'discarded': {
      // Completed, said so that SQLite takes the index of the outcome, which few have.
      const others = ['Running', ...unsuccessful.failed, ...unsuccessful.cancelled].map(quote).join(', ')
      return `${outcome('discarded')} AND ExecutionStatus NOT IN (${others})`
    }
  }
}

/** Of any status, those that are under way. */
export const runningQuery = (filter: DeliveryFilter): string =>
  allOf(filterQuery(filter), equals('ExecutionStatus', 'Running'))

/** Those under way that count as delivered already. */
export const deliveredWhileRunningQuery = (filter: DeliveryFilter): string =>
  allOf(runningQuery(filter), equals('PostriderOutcome', 'delivered'))

/** A row of a list. @param isPaused  whether a destination holds its deliveries now */
export function toDelivery(info: ExecutionInfo, isPaused: (destinationId: string) => boolean): Delivery {
  const attribute = (name: SearchAttributeName): unknown => decode(info.searchAttributes?.indexedFields?.[name])
  const text = (name: SearchAttributeName): string | null => {
    const value = attribute(name) as string | undefined
    return value === undefined ? null : fromKeyword(value)
  }
  const destinationIds = [attribute('PostriderDestinations') ?? []].flat() as string[]
  const outcome = text('PostriderOutcome') as OutcomeAttribute | null
  const status = statusOf(info, outcome, destinationIds.some(isPaused))
  const memo = (name: string): unknown => decode(info.memo?.fields?.[name])
  const attempts = (memo('attempts') ?? (status === 'delivered' ? memo('endpoints') : undefined)) as number | undefined
  return {
    id: info.execution?.workflowId ?? '',
    status,
    sourceId: text('PostriderSource') ?? '',
    destinationIds,
    type: text('PostriderType') ?? '',
    event: text('PostriderEvent'),
    messageId: text('PostriderMessageId') ?? '',
    userId: text('PostriderUserId'),
    startedAt: toIso(info.startTime) ?? new Date(0).toISOString(),
    endedAt: toIso(info.closeTime),
    attempts: attempts ?? null,
    nextAttemptAt: null,
    reason: (memo('reason') as string | undefined) ?? null,
  }
}

function statusOf(info: ExecutionInfo, outcome: OutcomeAttribute | null, onPaused: boolean): StartedStatus {
  switch (info.status) {
    case Status.WORKFLOW_EXECUTION_STATUS_RUNNING:
      if (outcome === 'retrying' && onPaused) return 'held'
      return outcome === 'retrying' || outcome === 'held' || outcome === 'delivered' ? outcome : 'delivering'
    case Status.WORKFLOW_EXECUTION_STATUS_COMPLETED:
      return outcome === 'discarded' ? 'discarded' : 'delivered'
    case Status.WORKFLOW_EXECUTION_STATUS_CANCELED:
    case Status.WORKFLOW_EXECUTION_STATUS_TERMINATED:
      return 'cancelled'
    default:
      return 'failed'
  }
}

const decode = (payload: temporal.api.common.v1.IPayload | null | undefined): unknown =>
  payload ? defaultPayloadConverter.fromPayload(payload) : undefined

/** A time of Temporal's API as ISO 8601. */
export function toIso(time: temporal.api.workflow.v1.IWorkflowExecutionInfo['startTime']): string | null {
  if (!time?.seconds) return null
  return new Date(Number(time.seconds) * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000)).toISOString()
}
