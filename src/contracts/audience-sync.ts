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
  /** Number of the pair in the database. */
  link: number
  /** Id of the destination. */
  destinationId: string
}

/** A sync as its workflow knows it. */
export interface SyncDescription {
  /** Id of the sync. */
  syncId: string
  /** Number of the sync in the database. */
  number: string
  /** What it does. */
  kind: SyncKind
  /** How far it was when it was read. */
  phase: SyncPhase
  /** Whose sync it is, as its settings stood when it began. */
  audience: {
    /** Id of the audience. */
    id: string
    /** Name of the trait that destinations are told. */
    key: string
    /** What users have of it. */
    kind: AudienceKind
    /** Name for people. */
    name: string
    /** Most Identify calls a second to each destination; null: as many as it takes. */
    maxPerSecond: number | null
  }
  /** Whether the membership has to be fetched. */
  pulls: boolean
  /** ISO 8601; the timestamp of all its Identify calls. */
  startedAt: string
  /** The destinations that are told. */
  links: AudienceLink[]
  /** When pages that failed are sent again. */
  retry: RetrySchedule
}

/** Input of the workflow `syncAudience`. */
export interface SyncAudienceInput {
  /** Id of the audience. */
  audienceId: string
  /** Started by the schedule: asks for a sync of its own. */
  scheduled?: boolean
  /** A sync in the middle of its sending that goes on in this run. */
  resumed?: {
    /** The sync that goes on. */
    sync: SyncDescription
    /** How far it is. */
    progress: SyncProgress
    /** User id after which the sending goes on, sealed, by destination. */
    cursors: Record<string, string>
  }
}

/** Answer of the query `progress`. */
export interface SyncProgress {
  /** Id of the sync that runs; null while none does. */
  syncId: string | null
  /** Where it stands. */
  phase: SyncPhase
  /** Rows of the membership so far; `added` to `unchanged` count users, `sent` to `failed` Identify calls. */
  rowsRead: number
  /** Users found to be added. */
  added: number
  /** Users found to be removed. */
  removed: number
  /** Users of which there is nothing to tell. */
  unchanged: number
  /** Identify calls delivered at the first attempt. */
  sent: number
  /** Identify calls that got a delivery of their own. */
  handedOn: number
  /** Identify calls refused for good. */
  failed: number
  /** Identify calls a second since the sending began. */
  rate: number
}

/** Input of the activity that sends for some seconds. */
export interface SendInput {
  /** The sync that sends. */
  sync: SyncDescription
  /** The destination that is told. */
  link: AudienceLink
  /** User id after which to go on, sealed; empty at the beginning. */
  after: string
}

/** What a stretch of sending came to. */
export interface SendResult {
  /** `done`: nothing is left; `more`: go on; `held`: the destination is paused; `skipped`: switched off or deleted. */
  kind: 'done' | 'more' | 'held' | 'skipped'
  /** User id up to which everything is told, sealed. */
  after: string
  /** Identify calls of the whole sync so far; absent when this stretch recorded none. */
  totals?: SyncTotals
  /** Why the first of those that failed for good did. */
  reason?: string
  /** Why some were not told. */
  passedOver?: string
}

/** Identify calls of a sync: delivered at the first attempt, given a delivery of their own, and refused for good. */
export interface SyncTotals {
  /** Delivered at the first attempt. */
  sent: number
  /** Given a delivery of their own, which tries for its whole window. */
  handedOn: number
  /** Refused for good. */
  failed: number
}

/** What the comparison came to, in users; a sync that is `refused` sends nothing, for the reason given. */
export interface ComparisonResult {
  /** Whether the sync may send. */
  kind: 'compared' | 'refused'
  /** Why it is refused, in words; absent when it is not. */
  reason?: string
  /** Users found to be added. */
  added: number
  /** Users found to be removed. */
  removed: number
  /** Users of which there is nothing to tell. */
  unchanged: number
}

/** How a sync ended, and why unless it completed. */
export interface SyncEnd {
  /** Id of the audience. */
  audienceId: string
  /** Id of the sync. */
  syncId: string
  /** How it ended. */
  status: 'completed' | 'failed' | 'refused' | 'stopped'
  /** Why, in words; absent when it completed. */
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
