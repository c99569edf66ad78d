/** What a row of Temporal's visibility says of a delivery. */

import proto, { type temporal } from '@temporalio/proto'
import type { OutcomeAttribute } from '../contracts/delivery.ts'
import { moreDestinations, resultAt, type SearchAttributeName } from '../contracts/names.ts'
import type { Delivery, StartedStatus } from '../schemas/delivery.ts'
import { fromKeyword } from './keyword.ts'
import type { Temporal } from './connection.ts'
import { decode } from './opened.ts'
import type { ShownNames } from './search-attributes.ts'

export type ExecutionInfo = temporal.api.workflow.v1.IWorkflowExecutionInfo

const Status = proto.temporal.api.enums.v1.WorkflowExecutionStatus

/** What the memo of a delivery shows; `erased` when the keys of its users were destroyed, undefined in one of an earlier version. */
export type Shown = ShownNames | 'erased' | undefined

/** @throws AppError unavailable while the keys cannot be read */
export async function readShown({ messages }: Pick<Temporal, 'messages'>, { memo }: ExecutionInfo): Promise<Shown> {
  const shown = valueOf(memo?.fields?.['shown']) as ShownNames | { sealed: string } | undefined
  if (shown === undefined || !('sealed' in shown)) return shown
  return ((await messages.open(shown.sealed)) as ShownNames | undefined) ?? 'erased'
}

/** A delivery as Temporal lists it. */
export interface ListedDelivery extends Delivery {
  /** When its workflow started, ISO 8601: Temporal sorts by it. */
  workflowStartedAt: string
}

/** A row of a list, whose payloads are open. @param isPaused  whether a destination holds its deliveries now */
export function toDelivery(
  info: ExecutionInfo,
  known: Shown,
  isPaused: (destinationId: string) => boolean,
): ListedDelivery {
  const attribute = (name: SearchAttributeName): unknown => valueOf(info.searchAttributes?.indexedFields?.[name])
  const text = (name: SearchAttributeName): string | null => {
    const value = attribute(name) as string | undefined
    return value === undefined ? null : fromKeyword(value)
  }
  const destinationIds = [
    ...[text('PostriderDestination1'), text('PostriderDestination2')].filter((id) => id !== moreDestinations),
    ...([attribute('PostriderDestinations') ?? []].flat() as string[]),
  ].filter((id) => id !== null)
  const outcome = text('PostriderOutcome') as OutcomeAttribute | null
  const results = [attribute('PostriderResults') ?? []].flat() as string[]
  // A destination that has settled it holds it no longer.
  const isWaitedFor = (id: string): boolean => results.length === 0 || results.includes(resultAt(id, 'retrying'))
  const status = statusOf(
    info,
    outcome,
    destinationIds.some((id) => isPaused(id) && isWaitedFor(id)),
  )
  const memo = (name: string): unknown => valueOf(info.memo?.fields?.[name])
  const isErased = known === 'erased'
  const shown = isErased ? {} : (known ?? earlierNames(text, (name) => memo(name) as string | undefined))
  const workflowStartedAt = toIso(info.startTime) ?? new Date(0).toISOString()
  const attempts = (memo('attempts') ?? (status === 'delivered' ? memo('endpoints') : undefined)) as number | undefined
  return {
    id: shown.id ?? info.execution?.workflowId ?? '',
    status,
    sourceId: text('PostriderSource') ?? '',
    destinationIds,
    type: text('PostriderType') ?? '',
    event: shown.event ?? null,
    messageId: shown.messageId ?? '',
    userId: shown.userId ?? null,
    erased: isErased,
    // One that left its parcel had started there.
    startedAt: (memo('acceptedAt') as string | undefined) ?? workflowStartedAt,
    workflowStartedAt,
    endedAt: toIso(info.closeTime),
    attempts: attempts ?? null,
    nextAttemptAt: status === 'retrying' ? whenToCome(memo('nextAttemptAt') as string | undefined) : null,
    // One that was kept from an endpoint for a while has kept that in its memo; one that is held waits for no endpoint.
    reason: status === 'delivered' || status === 'held' ? null : ((memo('reason') as string | undefined) ?? null),
  }
}

/** Those of a delivery that an earlier version started: its attributes have them, its memo those that are too long. */
const earlierNames = (
  attribute: (name: SearchAttributeName) => string | null,
  memo: (name: string) => string | undefined,
): { [Name in keyof ShownNames]?: string | null } => ({
  event: memo('event') ?? attribute('PostriderEvent'),
  messageId: memo('messageId') ?? attribute('PostriderMessageId'),
  userId: memo('userId') ?? attribute('PostriderUserId'),
})

/** Lists know a time that was written once; later ones are the delivery's own. */
export const whenToCome = (at: string | null | undefined): string | null =>
  at !== null && at !== undefined && Date.parse(at) > Date.now() ? at : null

function statusOf(info: ExecutionInfo, outcome: OutcomeAttribute | null, onPaused: boolean): StartedStatus {
  switch (info.status) {
    case Status.WORKFLOW_EXECUTION_STATUS_RUNNING:
      if (outcome === 'retrying' && onPaused) return 'held'
      return outcome === 'retrying' || outcome === 'held' || outcome === 'delivered' ? outcome : 'delivering'
    case Status.WORKFLOW_EXECUTION_STATUS_COMPLETED:
      return outcome === 'discarded' || outcome === 'partly_delivered' ? outcome : 'delivered'
    case Status.WORKFLOW_EXECUTION_STATUS_CANCELED:
    case Status.WORKFLOW_EXECUTION_STATUS_TERMINATED:
      return 'cancelled'
    default:
      return outcome === 'partly_delivered' ? outcome : 'failed'
  }
}

const valueOf = (payload: temporal.api.common.v1.IPayload | null | undefined): unknown =>
  payload ? decode(payload) : undefined

/** A time of Temporal's API as ISO 8601. */
export function toIso(time: temporal.api.workflow.v1.IWorkflowExecutionInfo['startTime']): string | null {
  if (!time?.seconds) return null
  return new Date(Number(time.seconds) * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000)).toISOString()
}
