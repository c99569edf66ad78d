/** Visibility queries over deliveries, and what a row of their answers says. */

import proto, { type temporal } from '@temporalio/proto'
import { defaultPayloadConverter } from '@temporalio/common'
import type { OutcomeAttribute } from '../contracts/delivery.ts'
import type { SearchAttributeName } from '../contracts/names.ts'
import type { Delivery, DeliveryFilter, DeliveryStatus } from '../schemas/delivery.ts'
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
  const { status, sourceId, destinationId, type, userId, messageId, since, until } = filter
  return [
    equals('WorkflowType', 'deliverEvent'),
    sourceId !== undefined && equals('PostriderSource', keyword(sourceId)),
    destinationId !== undefined && equals('PostriderDestinations', keyword(destinationId)),
    type !== undefined && equals('PostriderType', type),
    userId !== undefined && equals('PostriderUserId', keyword(userId)),
    messageId !== undefined && equals('PostriderMessageId', keyword(messageId)),
    since !== undefined && `StartTime >= ${quote(new Date(since).toISOString())}`,
    until !== undefined && `StartTime < ${quote(new Date(until).toISOString())}`,
    status !== undefined && statusQuery(status, pausedDestinations),
  ]
    .filter((part) => part !== false)
    .join(' AND ')
}

function statusQuery(status: DeliveryStatus, pausedDestinations: readonly string[]): string {
  const running = equals('ExecutionStatus', 'Running')
  const outcome = (value: OutcomeAttribute): string => equals('PostriderOutcome', value)
  const onPaused = `PostriderDestinations IN (${pausedDestinations.map(quote).join(', ')})`
  switch (status) {
    case 'queued':
      throw new RangeError('queued events are not in Temporal')
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
    case 'failed':
      return `ExecutionStatus IN ('Failed', 'TimedOut')`
    case 'discarded':
      return `${equals('ExecutionStatus', 'Completed')} AND ${outcome('discarded')}`
    case 'cancelled':
      return `ExecutionStatus IN ('Canceled', 'Terminated')`
  }
}

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

function statusOf(info: ExecutionInfo, outcome: OutcomeAttribute | null, onPaused: boolean): DeliveryStatus {
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
