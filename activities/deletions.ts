/** Carries out a deletion request, a few users at a time; what is done stands in the database. */

import { setTimeout as sleep } from 'node:timers/promises'
import { ApplicationFailure, Context } from '@temporalio/activity'
import { deletionFailures, type DeletionActivities } from '../src/contracts/deletions.ts'
import { forgetMembers, noteForget } from '../src/db/audiences-forget.ts'
import type { Database } from '../src/db/database.ts'
import {
  markDeletionCompleted,
  markErased,
  markQueueCleared,
  openDeletionRequest,
  removeQueuedEvents,
  finishUsers,
  usersToDelete,
  type OpenDeletionRequest,
  type UserToDelete,
} from '../src/db/deletion-requests.ts'
import { destroyKeysOf, retireUserKeys } from '../src/db/user-keys.ts'
import type { CancelOrder } from '../src/temporal/deletions.ts'
import { heartbeating } from './heartbeating.ts'

/** Users taken off the audiences at a time; users done at a time, and notifications started side by side. */
const forgetSize = 200
const pageSize = 20
const concurrency = 8

/** Pause before another look at queued events that a node was about to start, in milliseconds. */
const leasedPauseMs = 500

/** How long Temporal's lists may take to show a notification that has started, in milliseconds. */
const visibilityLagMs = 500

export interface DeletionActivityDependencies {
  database: Database
  /** Resolves once no node goes by what stood in the database before. */
  agree: () => Promise<void>
  /** Calls off deliveries, and answers how many. */
  cancelDeliveries: (order: CancelOrder) => Promise<number>
  /** How many deliveries of these users there are, whatever became of them. */
  countDeliveries: (order: CancelOrder) => Promise<number>
  /** Whether notifications of a request are under way. */
  hasNotifications: (requestId: string) => Promise<boolean>
  /** Keyed hash of a user id. */
  hashUser: (userId: string) => string
  /** Starts a notification; answers false when the source has no destination. */
  notify: (order: { requestId: string; sourceId: string; userId: string; requestedAt: Date }) => Promise<boolean>
}

export function createDeletionActivities(dependencies: DeletionActivityDependencies): DeletionActivities {
  const { database, agree, cancelDeliveries, countDeliveries, hasNotifications, hashUser, notify } = dependencies

  /** Waits until no queued event is left that a node may still start. */
  const clearQueue = async (requestId: string): Promise<Date> => {
    while (await removeQueuedEvents(database, requestId)) {
      Context.current().cancellationSignal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, leasedPauseMs))
    }
    return markQueueCleared(database, requestId, new Date())
  }

  /** Takes the users off the audiences and their keys out of use, and waits until no sync tells of them and no node seals with the keys any
   *  more.
   *  @returns until when syncs may have handed calls on */
  const forgetAll = async ({ id, scope }: OpenDeletionRequest): Promise<Date> => {
    for (let after = 0; ;) {
      const users = await usersToDelete(database, id, after, forgetSize)
      const last = users.at(-1)
      if (last === undefined) break
      await forgetMembers(database, idsOf(users))
      await retireUserKeys(database, id, scope, idsOf(users).map(hashUser))
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
    const forgottenAt = await forgetAll(request)
    const { scope } = request
    const why = `deletion request ${requestId}`
    for (;;) {
      const users = await usersToDelete(database, requestId, 0, pageSize)
      if (users.length === 0) break
      const order = { userIds: idsOf(users), scope, before, forgottenAt, why }
      const cancelled = await cancelDeliveries(order)
      const deliveries = await countDeliveries(order)
      const started = await notifyAll(request, users)
      const skipped = users.length * request.sourceIds.length - started
      await finishUsers(database, request, users, { started, skipped, cancelled, deliveries }, forgottenAt)
    }
    await markDeletionCompleted(database, requestId)
  }

  const destroy = async (requestId: string): Promise<void> => {
    // The last one may have started a moment ago.
    await sleep(visibilityLagMs)
    if (await hasNotifications(requestId))
      throw ApplicationFailure.create({
        type: deletionFailures.underWay,
        message: 'notifications are under way: what tells of the users is needed until they have ended',
        category: 'BENIGN',
      })
    // The key of the notifications belongs to nobody but the request.
    await retireUserKeys(database, requestId, [requestId], [hashUser('')])
    await destroyKeysOf(database, requestId)
    await noteForget(database)
    await agree()
    await markErased(database, requestId)
  }

  return {
    carryOutDeletion: ({ requestId }) => heartbeating(() => carryOut(requestId)),
    destroyKeys: ({ requestId }) => destroy(requestId),
  }
}

const idsOf = (users: UserToDelete[]): string[] => users.map(({ userId }) => userId)
