/** Carries out a deletion request, a few users at a time; what is done stands in the database. */

import { Context } from '@temporalio/activity'
import type { DeletionActivities } from '../src/contracts/deletions.ts'
import { forgetMembers, noteForget } from '../src/db/audiences-forget.ts'
import type { Database } from '../src/db/database.ts'
import {
  markDeletionCompleted,
  markQueueCleared,
  openDeletionRequest,
  removeQueuedEvents,
  finishUsers,
  usersToDelete,
  type OpenDeletionRequest,
  type UserToDelete,
} from '../src/db/deletion-requests.ts'
import type { CancelOrder } from '../src/temporal/deletions.ts'
import { heartbeating } from './heartbeating.ts'

/** Users taken off the audiences at a time; users done at a time, and notifications started side by side. */
const forgetSize = 200
const pageSize = 20
const concurrency = 8

/** Pause before another look at queued events that a node was about to start, in milliseconds. */
const leasedPauseMs = 500

export interface DeletionActivityDependencies {
  database: Database
  /** Resolves once no node goes by what stood in the database before. */
  agree: () => Promise<void>
  /** Calls off deliveries, and answers how many. */
  cancelDeliveries: (order: CancelOrder) => Promise<number>
  /** Starts a notification; answers false when the source has no destination. */
  notify: (order: { requestId: string; sourceId: string; userId: string; requestedAt: Date }) => Promise<boolean>
}

export function createDeletionActivities(dependencies: DeletionActivityDependencies): DeletionActivities {
  const { database, agree, cancelDeliveries, notify } = dependencies

  /** Waits until no queued event is left that a node may still start. */
  const clearQueue = async (requestId: string): Promise<Date> => {
    while (await removeQueuedEvents(database, requestId)) {
      Context.current().cancellationSignal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, leasedPauseMs))
    }
    return markQueueCleared(database, requestId, new Date())
  }

  /** Takes the users off the audiences, and waits until no sync tells of them any more.
   *  @returns until when syncs may have handed calls on */
  const forgetAll = async (requestId: string): Promise<Date> => {
    for (let after = 0; ;) {
      const users = await usersToDelete(database, requestId, after, forgetSize)
      const last = users.at(-1)
      if (last === undefined) break
      await forgetMembers(database, idsOf(users))
      after = last.position
    }
    await noteForget(database)
    await agree()
    return new Date()
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
    const forgottenAt = await forgetAll(requestId)
    const { scope } = request
    const why = `deletion request ${requestId}`
    for (;;) {
      const users = await usersToDelete(database, requestId, 0, pageSize)
      if (users.length === 0) break
      const cancelled = await cancelDeliveries({ userIds: idsOf(users), scope, before, forgottenAt, why })
      const started = await notifyAll(request, users)
      const skipped = users.length * request.sourceIds.length - started
      await finishUsers(database, request, users, { started, skipped, cancelled }, forgottenAt)
    }
    await markDeletionCompleted(database, requestId)
  }

  return { carryOutDeletion: ({ requestId }) => heartbeating(() => carryOut(requestId)) }
}

const idsOf = (users: UserToDelete[]): string[] => users.map(({ userId }) => userId)
