/** Deletion requests: taken, listed, and their progress. */

import type { Database } from '../db/database.ts'
import { createDeletionRequest, getDeletionRequest, listDeletionRequests } from '../db/deletion-requests.ts'
import { liftSuppression } from '../db/lift-suppression.ts'
import type { Page, PageRequest } from '../db/page.ts'
import { countSuppressed, maxSuppressed } from '../db/suppressed-users.ts'
import { AppError } from '../errors.ts'
import { newDeletionRequestId } from '../ids.ts'
import type {
  DeletionRequest,
  DeletionRequestDetail,
  LiftedSuppressions,
  LiftSuppressions,
  NewDeletionRequest,
} from '../schemas/deletion-request.ts'

export interface DeletionRequests {
  /** @throws AppError bad_request when a source is unknown; conflict when no more users can be suppressed */
  create(input: NewDeletionRequest): Promise<DeletionRequestDetail>
  /** @throws AppError not_found */
  read(id: string): Promise<DeletionRequestDetail>
  /** @throws AppError bad_request when the cursor is not one of this list */
  list(page: PageRequest): Promise<Page<DeletionRequest>>
  /** Ends the suppression of users: what they send from then on goes out again.
   *  @throws AppError bad_request when a source is unknown; conflict while a request of one of the users is being carried out */
  lift(input: LiftSuppressions): Promise<LiftedSuppressions>
}

export interface DeletionRequestDependencies {
  database: Database
  /** Ids of all sources, and whether each has a destination that can be notified. */
  sources: () => Map<string, boolean>
  /** Notifications that arrived and that failed. */
  countNotifications: (requestId: string) => Promise<{ delivered: number; failed: number }>
  /** Called after a request was stored; the request is answered when this resolves. */
  onCreated: (request: { suppress: boolean }) => Promise<void>
  /** Called after suppressions were lifted; the call is answered when this resolves. */
  onLifted: () => Promise<void>
}

export function createDeletionRequests(dependencies: DeletionRequestDependencies): DeletionRequests {
  const { database, sources, countNotifications, onCreated, onLifted } = dependencies

  const expectKnown = (known: Map<string, boolean>, asked: string[] | undefined): void =>
    asked?.forEach((id, index) => {
      if (known.has(id)) return
      const path = `sourceIds[${index}]`
      throw new AppError('bad_request', `${path}: no source has the id ${id}`, { path })
    })

  const affectedSources = (asked: string[] | undefined): string[] => {
    const known = sources()
    expectKnown(known, asked)
    return (asked ?? [...known.keys()]).filter((id) => known.get(id) === true)
  }

  const checkRoom = async (hashes: number): Promise<void> => {
    if ((await countSuppressed(database)) + hashes > maxSuppressed)
      throw new AppError(
        'conflict',
        `later events of at most ${maxSuppressed} users can be dropped: do not ask for that here, or lift it for others first`,
      )
  }

  const read = async (id: string): Promise<DeletionRequestDetail> => {
    const request = await getDeletionRequest(database, id)
    const counts = await countNotifications(id).catch(() => ({ delivered: null, failed: null }))
    return { ...request, ...counts }
  }

  return {
    async create({ suppress, ...input }) {
      const userIds = [...new Set(input.userIds)]
      const scope = input.sourceIds && [...new Set(input.sourceIds)]
      const sourceIds = affectedSources(scope)
      if (suppress) await checkRoom(userIds.length * (scope?.length ?? 1))
      const id = newDeletionRequestId()
      await createDeletionRequest(database, { id, userIds, scope, sourceIds, suppress, createdAt: new Date() })
      await onCreated({ suppress })
      return { ...(await getDeletionRequest(database, id)), delivered: 0, failed: 0 }
    },
    read,
    list: (page) => listDeletionRequests(database, page),
    async lift(input) {
      const known = sources()
      expectKnown(known, input.sourceIds)
      const userIds = [...new Set(input.userIds)]
      const order = { userIds, scope: input.sourceIds ?? null, sourceIds: [...known.keys()] }
      const outcome = await liftSuppression(database, order)
      if (outcome.kind === 'under_way') {
        const path = `userIds[${input.userIds.indexOf(userIds[outcome.index] ?? '')}]`
        const message = `${path}: a deletion request of this user is being carried out; lift the suppression when it is completed`
        throw new AppError('conflict', message, { path })
      }
      if (outcome.lifted > 0) await onLifted()
      return { lifted: outcome.lifted, remaining: outcome.remaining }
    },
  }
}
