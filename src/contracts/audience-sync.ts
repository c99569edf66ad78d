/** What crosses the boundary between the API, the workflows of audiences and their activities. */

import type { AudienceKind, SyncKind, SyncPhase } from '../schemas/audience.ts'
import type { RetrySchedule } from './delivery.ts'

/** Workflow id under which the syncs of an audience run, one at a time. */
export const audienceWorkflowId = (audienceId: string): string => `audience/${audienceId}`

/** Id of the Temporal Schedule of an audience. */
export const audienceScheduleId = (audienceId: string): string => `audience/${audienceId}`

/** Workflow id of a scheduled run; Temporal appends the time of the run. */
export const scheduledRunId = (audienceId: string): string => `audience/${audienceId}/scheduled`

/** Workflow id of the delivery of one change that did not get through at once. The audience stands in the place of the
 *  source, and the destination at the end, because all destinations get the same `messageId`. */
export const changeWorkflowId = (audienceId: string, messageId: string, destinationId: string): string =>
  `event/${audienceId}/${messageId}/${destinationId}`

/** Signals and queries of `syncAudience`. */
export const audienceSignals = {
  /** There is a sync to run in the database. */
  syncRequested: 'syncRequested',
  /** Stop this sync; argument: its id. */
  stopSync: 'stopSync',
} as const
/** Query of `syncAudience`, answered with a `SyncProgress`. */
export const progressQuery = 'progress'

/** Failure types in Temporal. */
export const audienceFailures = {
  /** The membership cannot be used: fails the sync at once. */
  membershipUnusable: 'MembershipUnusable',
  /** The server that the membership comes from did not give it: it is asked again, but not for ever. */
  sourceFailed: 'SourceFailed',
  /** The endpoint is down: the page is tried again later, until the retry window is over. */
  endpointDown: 'EndpointDown',
} as const

/** An audience at one of its destinations: what that destination acknowledged is kept under this number. */
export interface AudienceLink {
  link: number
  destinationId: string
}

/** A sync as its workflow knows it. */
export interface SyncDescription {
  syncId: string
  /** Number of the sync in the database. */
  number: string
  kind: SyncKind
  phase: SyncPhase
  audience: { id: string; key: string; kind: AudienceKind; name: string; maxPerSecond: number | null }
  /** Whether the membership has to be fetched. */
  pulls: boolean
  /** ISO 8601; the timestamp of all its Identify calls. */
  startedAt: string
  links: AudienceLink[]
  retry: RetrySchedule
}

/** Input of the workflow `syncAudience`. */
export interface SyncAudienceInput {
  audienceId: string
  /** Started by the schedule: asks for a sync of its own. */
  scheduled?: boolean
  /** A sync in the middle of its sending that goes on in this run. */
  resumed?: { sync: SyncDescription; progress: SyncProgress; cursors: Record<string, string> }
}

/** Answer of the query `progress`. */
export interface SyncProgress {
  syncId: string | null
  phase: SyncPhase
  /** Rows of the membership so far; `added` to `unchanged` count users, `sent` to `failed` Identify calls. */
  rowsRead: number
  added: number
  removed: number
  unchanged: number
  sent: number
  handedOn: number
  failed: number
  /** Identify calls a second since the sending began. */
  rate: number
}

/** Input of the activity that sends for some seconds. */
export interface SendInput {
  sync: SyncDescription
  link: AudienceLink
  /** User id after which to go on; empty at the beginning. */
  after: string
}

/** What a stretch of sending came to. */
export interface SendResult {
  /** `done`: nothing is left; `more`: go on; `held`: the destination is paused; `skipped`: switched off or deleted. */
  kind: 'done' | 'more' | 'held' | 'skipped'
  after: string
  /** Identify calls of the whole sync so far; absent when this stretch recorded none. */
  totals?: SyncTotals
  /** Why the first of those that failed for good did. */
  reason?: string
}

/** Identify calls of a sync: delivered at the first attempt, given a delivery of their own, and refused for good. */
export interface SyncTotals {
  sent: number
  handedOn: number
  failed: number
}

/** What the comparison came to, in users; a sync that is `refused` sends nothing, for the reason given. */
export interface ComparisonResult {
  kind: 'compared' | 'refused'
  reason?: string
  added: number
  removed: number
  unchanged: number
}

/** How a sync ended, and why unless it completed. */
export interface SyncEnd {
  audienceId: string
  syncId: string
  status: 'completed' | 'failed' | 'refused' | 'stopped'
  reason?: string
}

/** Activities of `syncAudience`. */
export interface AudienceActivities {
  /** Marks the next waiting sync as running and describes it; null when none waits.
   *  @param scheduledBy  run id of a workflow that the schedule started and that asks for a sync */
  beginSync(input: { audienceId: string; scheduledBy?: string }): Promise<SyncDescription | null>
  /** Fetches the membership into staging. @throws MembershipUnusable, SourceFailed */
  loadMembership(sync: SyncDescription): Promise<{ rowsRead: number }>
  /** Checks the rows, compares them with what was acknowledged and takes the membership over. @throws MembershipUnusable */
  compareMembership(sync: SyncDescription): Promise<ComparisonResult>
  /** Sends changes for some seconds. @throws EndpointDown, which Temporal retries until the retry window is over */
  sendChanges(input: SendInput): Promise<SendResult>
  /** Writes down how a sync ended, and which destinations now have all that it had to tell; deletes the audience after a sync of
   *  kind `delete`. */
  finishSync(end: SyncEnd): Promise<void>
}
