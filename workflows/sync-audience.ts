/** The syncs of one audience, one after the other, until none is asked for. */

import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow'
import {
  audienceSignals,
  progressQuery,
  type AudienceLink,
  type SyncAudienceInput,
  type SyncDescription,
  type SyncEnd,
  type SyncProgress,
} from '../src/contracts/audience-sync.ts'
import { bookkeeping, loadMembership, sending } from './audience-activities.ts'

export const syncRequested = defineSignal(audienceSignals.syncRequested)
export const stopSync = defineSignal<[string]>(audienceSignals.stopSync)
export const progress = defineQuery<SyncProgress>(progressQuery)

/** How often a held sync looks whether its destination was resumed; the pause doubles from the first to the last. */
const firstHoldMs = 1_000
const longestHoldMs = 60_000

type Resumed = NonNullable<SyncAudienceInput['resumed']>

/** Where the running sync stands. */
interface Run extends Resumed {
  sendingSince: number
  /** Whether the history is long, so that the sync goes on in a new run. */
  yields: boolean
  /** Why a call failed for good. */
  reason?: string | undefined
  /** Why some were not told. */
  passedOver?: string | undefined
}

/** Runs the syncs of an audience that wait in the database, oldest first. */
export async function syncAudience({ audienceId, scheduled, resumed }: SyncAudienceInput): Promise<void> {
  const requests = { asked: false }
  let stopped: string | undefined
  let scope: CancellationScope | undefined
  let run: Run | undefined = resumed && { ...resumed, sendingSince: Date.now(), yields: false }
  setHandler(syncRequested, () => {
    requests.asked = true
  })
  setHandler(stopSync, (syncId) => {
    stopped = syncId
    if (run?.sync.syncId === syncId) scope?.cancel()
  })
  setHandler(progress, () => run?.progress ?? noProgress)

  let scheduledBy = scheduled ? workflowInfo().runId : undefined
  for (;;) {
    if (run === undefined) {
      requests.asked = false
      const sync = await bookkeeping.beginSync({ audienceId, ...(scheduledBy !== undefined && { scheduledBy }) })
      scheduledBy = undefined
      if (sync !== null) run = newRun(sync)
      else if (requests.asked) continue
      else return
    }
    const current = run
    scope = new CancellationScope()
    const end = await endOf(current, scope, () => stopped === current.sync.syncId)
    if (end === 'yields') {
      const { sync, progress, cursors } = current
      await continueAsNew<typeof syncAudience>({ audienceId, resumed: { sync, progress, cursors } })
      return
    }
    await bookkeeping.finishSync({ audienceId, syncId: current.sync.syncId, ...end })
    current.progress.phase = 'ended'
    run = undefined
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof syncAudience>({ audienceId })
  }
}

type End = Pick<SyncEnd, 'status' | 'reason'>

async function endOf(run: Run, scope: CancellationScope, isStopped: () => boolean): Promise<End | 'yields'> {
  try {
    if (isStopped()) return { status: 'stopped' }
    return await scope.run(() => carryOut(run))
  } catch (error) {
    if (isCancellation(error) && isStopped()) return { status: 'stopped' }
    if (error instanceof ActivityFailure && !isCancellation(error)) return { status: 'failed', reason: reasonOf(error) }
    throw error
  }
}

async function carryOut(run: Run): Promise<End | 'yields'> {
  const { sync, progress } = run
  if (progress.phase !== 'sending') {
    if (sync.pulls) {
      progress.phase = 'loading'
      progress.rowsRead = (await loadMembership(sync)).rowsRead
    }
    progress.phase = 'comparing'
    const { kind, reason, ...counts } = await bookkeeping.compareMembership(sync)
    Object.assign(progress, counts)
    if (kind === 'refused') return { status: 'refused', ...(reason !== undefined && { reason }) }
    progress.phase = 'sending'
    run.sendingSince = Date.now()
  }
  const outcomes = await Promise.allSettled(sync.links.map((link) => sendAll(run, link)))
  const failure = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failure !== undefined) throw failure.reason
  if (run.yields) return 'yields'
  // What failed counts for more than what is told later.
  const reason = run.reason ?? run.passedOver
  return { status: 'completed', ...(reason !== undefined && { reason }) }
}

/** Sends one destination's changes, stretch by stretch. */
async function sendAll(run: Run, link: AudienceLink): Promise<void> {
  const { sync, progress, cursors } = run
  const { sendChanges } = sending(sync.retry, link.destinationId)
  for (let holdMs = firstHoldMs; !run.yields;) {
    const result = await sendChanges({ sync, link, after: cursors[link.link] ?? '' })
    cursors[link.link] = result.after
    if (result.totals !== undefined) Object.assign(progress, result.totals)
    progress.rate = rateOf(run)
    run.reason ??= result.reason
    run.passedOver ??= result.passedOver
    if (result.kind === 'done' || result.kind === 'skipped') return
    if (workflowInfo().continueAsNewSuggested) run.yields = true
    else if (result.kind === 'held') {
      await sleep(holdMs)
      holdMs = Math.min(2 * holdMs, longestHoldMs)
    } else holdMs = firstHoldMs
  }
}

function rateOf({ progress, sendingSince }: Run): number {
  const seconds = (Date.now() - sendingSince) / 1000
  return seconds <= 0 ? 0 : Math.round((progress.sent + progress.handedOn + progress.failed) / seconds)
}

function reasonOf({ cause }: ActivityFailure): string {
  return cause instanceof ApplicationFailure ? cause.message : (cause?.message ?? 'it failed')
}

const noProgress: SyncProgress = {
  syncId: null,
  phase: 'waiting',
  rowsRead: 0,
  added: 0,
  removed: 0,
  unchanged: 0,
  sent: 0,
  handedOn: 0,
  failed: 0,
  rate: 0,
}

/** A sync that was interrupted in its sending compares nothing anew: its changes stand in the database. */
const newRun = (sync: SyncDescription): Run => ({
  sync,
  progress: { ...noProgress, syncId: sync.syncId, phase: sync.phase },
  cursors: {},
  sendingSince: Date.now(),
  yields: false,
})
