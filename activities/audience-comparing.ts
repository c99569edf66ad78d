/** The activity that compares a membership with what was acknowledged, guards against a removal by mistake, and takes the
 *  membership over. */

import { badRowsRefusal } from '../src/audiences/bad-rows.ts'
import type { AudienceMetrics } from '../src/audiences/metrics.ts'
import type { AudienceLink, ComparisonResult, SyncDescription } from '../src/contracts/audience-sync.ts'
import type { AudienceStore, StoredAudience } from '../src/db/audiences.ts'
import {
  clearChanges,
  compareChanged,
  compareUndone,
  compareWhole,
  countAcknowledged,
  countChangedUsers,
  countToldMembers,
  takeOverChange,
  takeOverMembership,
  takeOverUndo,
  type LinkCounts,
} from '../src/db/audiences-comparison.ts'
import { forgetHandedOn, handedOnPage, outdatedHandedOn, takeBack } from '../src/db/audiences-handed-on.ts'
import { countMembers } from '../src/db/audiences-staging.ts'
import { readSync, updateSync, type SyncRow } from '../src/db/audiences-syncs.ts'
import type { Database } from '../src/db/database.ts'

/** How many deliveries are looked at together. */
const handedOnPageSize = 100

/** A row set that has no rows: the membership of nobody. */
const noRows = '0'

export interface ComparingDependencies {
  database: Database
  audiences: AudienceStore
  metrics: AudienceMetrics
  deliveryState: (workflowId: string) => Promise<'running' | 'delivered' | 'failed'>
  endDelivery: (workflowId: string, reason: string) => Promise<void>
}

/** Compares a membership and takes it over; a repeat comes to the same.
 *  @throws MembershipError when too many rows are bad */
export async function compareMembership(
  dependencies: ComparingDependencies,
  sync: SyncDescription,
): Promise<ComparisonResult> {
  const { database, audiences, metrics } = dependencies
  await updateSync(database, sync.number, { phase: 'comparing' })
  const row = await readSync(database, sync.audience.id, sync.syncId)
  const audience = await audiences.getStored(sync.audience.id)
  countRows(metrics, row)
  refuseBadRows(row, audience)
  await reviewHandedOn(dependencies, audience.id)

  const { rowSet, members } = await membershipOf(database, sync, row, audience)
  const counts = new Map<AudienceLink, LinkCounts>()
  for (const link of sync.links) {
    await clearChanges(database, sync.number, link)
    counts.set(link, await compareLink(database, sync, row, audience, link, rowSet))
  }
  const users = await usersOf(database, sync, counts)
  // What an undo adds is not among the members yet, and what it removes still is.
  const told = sync.kind === 'undo' ? await countToldMembers(database, sync.number, rowSet) : users.added
  const result = { ...users, unchanged: Math.max(0, members - told) }
  const reason = await reasonToRefuse(database, audience, row, counts)
  if (reason !== undefined) {
    for (const link of sync.links) await clearChanges(database, sync.number, link)
    await updateSync(database, sync.number, { counts: result })
    return { kind: 'refused', reason, ...result }
  }
  await takeOver(database, sync, row, audience, { rowSet, members })
  await endOvertaken(dependencies, sync)

  await updateSync(database, sync.number, { phase: 'sending', counts: result })
  metrics.changes.inc({ change: 'added' }, users.added)
  metrics.changes.inc({ change: 'removed' }, users.removed)
  return { kind: 'compared', ...result }
}

function countRows({ rows }: AudienceMetrics, { rows_read, bad_rows }: SyncRow): void {
  rows.inc({ result: 'good' }, Number(rows_read) - Number(bad_rows))
  rows.inc({ result: 'bad' }, Number(bad_rows))
}

function refuseBadRows({ rows_read, bad_rows, bad_row_sample }: SyncRow, { maxBadRowShare }: StoredAudience): void {
  const rows = { rowsRead: Number(rows_read), badRows: Number(bad_rows), badRowSample: bad_row_sample }
  const refusal = badRowsRefusal(rows, maxBadRowShare)
  if (refusal !== undefined) throw refusal
}

/** Looks what became of the deliveries that earlier syncs handed changes on to. */
async function reviewHandedOn({ database, deliveryState }: ComparingDependencies, audienceId: string): Promise<void> {
  for (let after = { link: 0, userId: '' }; ;) {
    const page = await handedOnPage(database, audienceId, after, handedOnPageSize)
    const states = await Promise.all(page.map(({ workflowId }) => deliveryState(workflowId)))
    for (const [index, one] of page.entries()) {
      if (states[index] === 'delivered') await forgetHandedOn(database, one)
      if (states[index] === 'failed') await takeBack(database, one)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < handedOnPageSize) return
    after = last
  }
}

/** The row set that the sync brings every destination to, and how many it has. */
async function membershipOf(
  database: Database,
  { kind }: SyncDescription,
  row: SyncRow,
  audience: StoredAudience,
): Promise<{ rowSet: string; members: number }> {
  if (kind === 'delete') return { rowSet: noRows, members: 0 }
  if (kind === 'change' && row.load !== null) return takeOverChange(database, audience.id, row.load)
  const rowSet = row.load ?? audience.rowSet ?? noRows
  return { rowSet, members: await countMembers(database, rowSet) }
}

async function compareLink(
  database: Database,
  sync: SyncDescription,
  row: SyncRow,
  audience: StoredAudience,
  link: AudienceLink,
  rowSet: string,
): Promise<LinkCounts> {
  const isInStep = audience.links.find((known) => known.link === link.link)?.inStep === true
  if (sync.kind === 'undo') return compareUndone(database, sync.number, link, row.undo_of ?? '0')
  if (sync.kind === 'change' && row.load !== null && isInStep)
    return compareChanged(database, sync.number, link, row.load, rowSet)
  return compareWhole(database, sync.number, link, rowSet, sync.kind === 'resync')
}

/** Why a sync must be confirmed first; undefined when it need not. A change, an undo and a deletion name what is to be removed, while a
 *  whole membership may be half a file. */
async function reasonToRefuse(
  database: Database,
  { maxRemovalShare, links }: StoredAudience,
  { kind, confirmed }: SyncRow,
  counts: Map<AudienceLink, LinkCounts>,
): Promise<string | undefined> {
  if (confirmed || kind === 'change' || kind === 'undo' || kind === 'delete') return undefined
  for (const [link, { removed }] of counts) {
    if (removed === 0) continue
    const acknowledged = await countAcknowledged(database, link)
    if (removed <= maxRemovalShare * acknowledged) continue
    const name = links.find((known) => known.link === link.link)?.destinationName ?? link.destinationId
    return `It would remove ${removed} of ${acknowledged} members from ${name}: confirm it if that is right.`
  }
  return undefined
}

async function takeOver(
  database: Database,
  { kind, number }: SyncDescription,
  row: SyncRow,
  audience: StoredAudience,
  { rowSet, members }: { rowSet: string; members: number },
): Promise<void> {
  if (kind === 'undo' && rowSet !== noRows) await takeOverUndo(database, audience.id, number, rowSet)
  else if (kind !== 'change' && kind !== 'undo' && row.load !== null)
    await takeOverMembership(database, audience.id, { rowSet, members, etag: row.etag, sync: number })
}

/** How many users the sync tells something; with one destination, those are its counts. */
async function usersOf(
  database: Database,
  { number }: SyncDescription,
  counts: Map<AudienceLink, LinkCounts>,
): Promise<LinkCounts> {
  const [only] = counts.values()
  if (counts.size > 1) return countChangedUsers(database, number)
  return only ?? { added: 0, removed: 0 }
}

/** Ends deliveries of earlier syncs that still try, about users of whom this sync has newer news. */
async function endOvertaken({ database, endDelivery }: ComparingDependencies, sync: SyncDescription): Promise<void> {
  for (;;) {
    const page = await outdatedHandedOn(database, sync.number, handedOnPageSize)
    for (const one of page) {
      await endDelivery(one.workflowId, `overtaken by ${sync.syncId}`)
      await forgetHandedOn(database, one)
    }
    if (page.length < handedOnPageSize) return
  }
}
