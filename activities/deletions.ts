/** Carries out a deletion request, a few users at a time; what is done stands in the database. */

import { Context } from '@temporalio/activity'
import type { DeletionActivities } from '../src/contracts/deletions.ts'
import { forgetMembers } from '../src/db/audiences-forget.ts'
import type { Database } from '../src/db/database.ts'
import {
  markDeletionCompleted,
  markQueueCleared,
  openDeletionRequest,
  removeQueuedEvents,
  settleUsers,
  usersToDelete,
  type OpenDeletionRequest,
  type UserToDelete,
} from '../src/db/deletion-requests.ts'
import { heartbeating } from './heartbeating.ts'

/** Users done at a time, and notifications started side by side. */
const pageSize = 20
const concurrency = 8

/** Pause before another look at queued events that a node was about to start, in milliseconds. */
const leasedPauseMs = 500

export interface DeletionActivityDependencies {
  database: Database
  /** Calls off deliveries; answers how many. */
  cancelDeliveries: (order: { userIds: string[]; scope: string[] | null; before: Date; why: string }) => Promise<number>
  /** Starts a notification; false when the source has no destination. */
  notify: (order: { requestId: string; sourceId: string; userId: string; requestedAt: Date }) => Promise<boolean>
}

export function createDeletionActivities(dependencies: DeletionActivityDependencies): DeletionActivities {
  const { database, cancelDeliveries, notify } = dependencies

  /** Waits until no queued event is left that a node may still start. */
  const clearQueue = async (requestId: string): Promise<Date> => {
    while (await removeQueuedEvents(database, requestId)) {
      Context.current().cancellationSignal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, leasedPauseMs))
    }
    return markQueueCleared(database, requestId, new Date())
  }

  const notifyAll = async (request: OpenDeletionRequest, users: UserToDelete[]): Promise<number> => {
    const orders = users.flatMap(({ userId }) =>
      request.sourceIds.map((sourceId) => ({
        requestId: request.id,
        sourceId,
        userId,
        requestedAt: request.createdAt,
      })),
    )
    let started = 0
    for (let start = 0; start < orders.length; start += concurrency) {
      Context.current().cancellationSignal.throwIfAborted()
      const results = await Promise.all(orders.slice(start, start + concurrency).map(notify))
      started += results.filter(Boolean).length
    }
    return started
  }

  const carryOut = async (requestId: string): Promise<void> => {
    const request = await openDeletionRequest(database, requestId)
    if (request === undefined) return
    const before = request.clearedAt ?? (await clearQueue(requestId))
    for (;;) {
      const users = await usersToDelete(database, requestId, pageSize)
      if (users.length === 0) break
      const userIds = users.map(({ userId }) => userId)
      await forgetMembers(database, userIds)
      const cancelled = await cancelDeliveries({
        userIds,
        scope: request.scope,
        before,
        why: `deletion request ${requestId}`,
      })
      const started = await notifyAll(request, users)
      const skipped = users.length * request.sourceIds.length - started
      await settleUsers(database, requestId, users, { started, skipped, cancelled })
    }
    await markDeletionCompleted(database, requestId)
  }

  return { carryOutDeletion: ({ requestId }) => heartbeating(() => carryOut(requestId)) }
}
