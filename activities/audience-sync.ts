/** The activities of `syncAudience` around the sending: take a sync, fetch its membership, compare, finish. */

import { createHash } from 'node:crypto'
import { ApplicationFailure, Context } from '@temporalio/activity'
import type { Reading } from '../src/audiences/member-row.ts'
import type { LiveTraffic } from '../src/audiences/live-traffic.ts'
import { MembershipError } from '../src/audiences/membership-error.ts'
import { pullMembership } from '../src/audiences/pull.ts'
import type { PullGuard } from '../src/audiences/pull-http.ts'
import { stageMembers } from '../src/audiences/stage-members.ts'
import {
  audienceFailures,
  type AudienceActivities,
  type SyncDescription,
  type SyncEnd,
} from '../src/contracts/audience-sync.ts'
import type { RetrySchedule } from '../src/contracts/delivery.ts'
import type { AudienceStore, StoredAudience } from '../src/db/audiences.ts'
import { noteInStep } from '../src/db/audiences-changes.ts'
import { noteWhatIsLeft } from '../src/db/audiences-comparison.ts'
import { dropAudience, purgeAudience } from '../src/db/audiences-purge.ts'
import { completeRowSet, createRowSet, dropRowSet, writeRows } from '../src/db/audiences-staging.ts'
import { endSync, readSync, requestSync, takeNextSync, updateSync, type SyncRow } from '../src/db/audiences-syncs.ts'
import { AppError } from '../src/errors.ts'
import type { Logger } from '../src/logger.ts'
import { compareMembership, type ComparingDependencies } from './audience-comparing.ts'
import { sendChanges, type SendingDependencies } from './audience-sending.ts'
import { heartbeating } from './heartbeating.ts'

export interface AudienceActivityDependencies extends SendingDependencies, ComparingDependencies {
  audiences: AudienceStore
  guard: PullGuard
  liveTraffic: Pick<LiveTraffic, 'callsPerSecond' | 'inTurn'>
  retry: RetrySchedule
  /** Deletes the Schedule of an audience; does nothing when there is none. */
  deleteSchedule: (audienceId: string) => Promise<void>
  logger: Logger
}

export function createAudienceActivities(dependencies: AudienceActivityDependencies): AudienceActivities {
  const { database, audiences, guard, retry, metrics, liveTraffic, logger } = dependencies

  /** Reads the membership into a row set; one that was not read to its end is removed again. */
  const stage = async (sync: SyncDescription): Promise<{ rowsRead: number }> => {
    const { cancellationSignal } = Context.current()
    const audience = await audiences.getStored(sync.audience.id)
    const pulled = await pullMembership(audience, guard, cancellationSignal).catch((error: unknown) => {
      throw sourceFault(error)
    })
    if (pulled.kind === 'unchanged') return { rowsRead: 0 }
    const staged = await createRowSet(database, audience.id)
    try {
      const rows = await stageMembers(
        readingsOf(pulled.readings),
        (group) => liveTraffic.inTurn(() => writeRows(database, staged, group)),
        (soFar) => updateSync(database, sync.number, { rows: soFar }),
      )
      await completeRowSet(database, staged)
      const etag = pulled.etag()
      await updateSync(database, sync.number, { rowSet: staged, rows, ...(etag !== undefined && { etag }) })
      return { rowsRead: rows.rowsRead }
    } catch (error) {
      await dropRowSet(database, staged)
      throw error
    }
  }

  const end = async (audienceId: string, sync: SyncRow, status: SyncEnd['status'], reason?: string): Promise<void> => {
    // The audience of a deletion is dropped, and with it all that could be undone.
    if (sync.kind !== 'delete') await noteWhatIsLeft(database, audienceId, sync.undo_of)
    await endSync(database, sync.id, status, reason)
  }

  return {
    async beginSync({ audienceId, scheduledBy }) {
      if (scheduledBy !== undefined) {
        if ((await existing(audiences.getStored(audienceId))) === undefined) return null
        const syncId = `sync_${createHash('sha256').update(scheduledBy).digest('hex').slice(0, 20)}`
        await requestSync(database, { audienceId, kind: 'sync', syncId })
      }
      let sync = await takeNextSync(database, audienceId)
      while (sync?.stop_requested) {
        await end(audienceId, sync, 'stopped')
        sync = await takeNextSync(database, audienceId)
      }
      if (sync === undefined) return null
      // The audience is read only now: a deletion disconnects the destinations before its sync can be taken.
      const audience = await existing(audiences.getStored(audienceId))
      if (audience === undefined) return null
      metrics.running.inc()
      logger.info({ audienceId, syncId: sync.id, kind: sync.kind }, 'audience.sync_began')
      return describeSync(audience, sync, retry)
    },

    loadMembership: (sync) => heartbeating(() => asFailure(() => stage(sync))),

    compareMembership: (sync) => heartbeating(() => asFailure(() => compareMembership(dependencies, sync))),

    sendChanges: (input) => sendChanges(dependencies, input),

    finishSync: ({ audienceId, syncId, status, reason }) =>
      heartbeating(async () => {
        const sync = await existing(readSync(database, audienceId, syncId))
        if (sync === undefined) return
        if (sync.phase === 'sending')
          await noteInStep(database, audienceId, sync.number, { whole: sync.kind !== 'undo' })
        await end(audienceId, sync, status, reason)
        if (sync.status === 'running') {
          metrics.running.dec()
          metrics.ended.inc({ status })
          logger.info({ audienceId, syncId, outcome: status, reason }, 'audience.sync_ended')
        }
        if (sync.kind === 'delete') {
          await dependencies.deleteSchedule(audienceId)
          await dropAudience(database, audienceId)
        } else await purgeAudience(database, audienceId)
      }),
  }
}

const describeSync = (audience: StoredAudience, sync: SyncRow, retry: RetrySchedule): SyncDescription => {
  const { id, key, kind, name, maxPerSecond, membership, links } = audience
  const needsMembership = sync.kind === 'sync' || sync.kind === 'resync'
  return {
    syncId: sync.id,
    number: sync.number,
    kind: sync.kind,
    phase: sync.phase,
    audience: { id, key, kind, name, maxPerSecond },
    pulls: needsMembership && membership.kind !== 'push' && sync.load === null && !sync.confirmed,
    startedAt: (sync.started_at ?? new Date()).toISOString(),
    links: links.map(({ link, destinationId }) => ({ link, destinationId })),
    retry,
  }
}

/** What was asked for; undefined when it is not there. */
async function existing<Found>(asked: Promise<Found>): Promise<Found | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  }
}

/** The error of the server that a membership comes from, told apart from faults on this side. */
function sourceFault(error: unknown): unknown {
  if (error instanceof MembershipError || Context.current().cancellationSignal.aborted) return error
  const message = error instanceof Error ? error.message : String(error)
  return ApplicationFailure.create({ type: audienceFailures.sourceFailed, message, category: 'BENIGN' })
}

async function* readingsOf(source: AsyncIterable<Reading[]>): AsyncGenerator<Reading[]> {
  try {
    yield* source
  } catch (error) {
    throw sourceFault(error)
  }
}

/** A membership that cannot be used fails its sync at once; all else is tried again. */
async function asFailure<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MembershipError)) throw error
    throw ApplicationFailure.create({
      type: audienceFailures.membershipUnusable,
      message: error.sentence,
      nonRetryable: true,
      category: 'BENIGN',
      cause: error,
    })
  }
}
