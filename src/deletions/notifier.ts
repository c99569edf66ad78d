/** The notification that a user of a source is to be deleted, as a delivery. */

import { createHash } from 'node:crypto'
import { notificationWorkflowId } from '../contracts/deletions.ts'
import type { DeliverEventInput, DeliveryTarget, RetrySchedule } from '../contracts/delivery.ts'
import { deleteBody } from '../ingest/message-body.ts'

/** User ids that stand in a workflow id as they are; of all others their hash does. */
const plainUserId = /^[\w.@:+-]{1,150}$/

export interface NotificationOrder {
  requestId: string
  sourceId: string
  userId: string
  /** When the deletion was asked for. */
  requestedAt: Date
}

export interface NotifierDependencies {
  /** Destinations of a source that are switched on and have endpoints, as they are now. */
  targetsOf: (sourceId: string) => DeliveryTarget[]
  start: (input: DeliverEventInput, workflowId: string) => Promise<unknown>
  retry: RetrySchedule
}

/** Starts the delivery of a notification, once however often it is called.
 *  @returns false when the source has no destination that can be notified */
export type Notify = (order: NotificationOrder) => Promise<boolean>

export const createNotifier =
  ({ targetsOf, start, retry }: NotifierDependencies): Notify =>
  async ({ requestId, sourceId, userId, requestedAt }) => {
    const targets = targetsOf(sourceId)
    if (targets.length === 0) return false
    const message = deleteBody(userId, requestedAt)
    const messageId = `delete-${sha256([requestId, sourceId, userId].join('\n'))}`
    const userKey = plainUserId.test(userId) ? userId : `sha256:${sha256(userId)}`
    await start({ sourceId, messageId, message, targets, retry }, notificationWorkflowId(requestId, sourceId, userKey))
    return true
  }

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
