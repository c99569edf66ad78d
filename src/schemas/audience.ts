/** Audiences, their members and their syncs, as the management API takes and shows them. */

import { z } from 'zod'
import { NameSchema } from './source.ts'

/** Longest key of an audience, in characters. */
export const maxKeyLength = 100
/** Most destinations of one audience. */
export const maxAudienceDestinations = 100
/** Longest query of a SQL pull, in characters. */
export const maxQueryLength = 20_000
/** Most headers of an HTTP pull. */
export const maxPullHeaders = 50
/** Longest statement time-out of a SQL pull, in seconds. */
export const maxStatementTimeoutSeconds = 3_600
/** Longest user id of a member, in characters. */
export const maxUserIdLength = 512
/** Largest traits or value of one member, as JSON in bytes: an Identify stays below the 32 KB of a call. */
export const maxMemberBytes = 24 * 1024
/** Most users that one change names. */
export const maxChangedUsers = 100_000

/** What users have of an audience: `audience`, that they are in it (`true` or `false`); `trait`, a value of their own. */
export const audienceKinds = ['audience', 'trait'] as const
/** One of `audienceKinds`. */
export const AudienceKindSchema = z.enum(audienceKinds)
export type AudienceKind = z.infer<typeof AudienceKindSchema>

/** How a membership is written: an object or user id a line, CSV with a header line, or one JSON array. */
export const memberFormats = ['ndjson', 'csv', 'json'] as const
export type MemberFormat = (typeof memberFormats)[number]

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be a full http or https URL' }).max(2_048)

const PushSchema = z.strictObject({ kind: z.literal('push') })

const HttpPullSchema = z.strictObject({
  kind: z.literal('http'),
  url: httpUrl,
  /** Sent to the origin of `url` alone; in a change, absent headers stay as they are while the origin stays. */
  headers: z
    .record(z.string(), z.string().max(4_096))
    .refine((entries) => Object.keys(entries).length <= maxPullHeaders, `must have at most ${maxPullHeaders} members`)
    .optional(),
  /** What the answer is; absent: as its Content-Type says. */
  format: z.enum(memberFormats).optional(),
})

const SqlPullSchema = z.strictObject({
  kind: z.literal('sql'),
  /** `postgres://user:password@host:port/database?sslmode=…`; in a change, absent means unchanged. */
  connectionString: z.string().max(2_048).optional(),
  /** One statement that gives a column `user_id`, for computed traits `value`; further columns become traits. */
  query: z.string().min(1).max(maxQueryLength),
  /** How long the statement may take, in seconds; 300 unless given. */
  statementTimeoutSeconds: z.int().min(1).max(maxStatementTimeoutSeconds).default(300),
})

/** Where an audience's members come from: they are uploaded (`push`), fetched over HTTP, or read by a SQL statement. */
export const MembershipSchema = z.discriminatedUnion('kind', [PushSchema, HttpPullSchema, SqlPullSchema])
export type Membership = z.infer<typeof MembershipSchema>

/** Where members come from, as it is shown: without header values, user and password. */
export const MembershipViewSchema = z.discriminatedUnion('kind', [
  PushSchema,
  z.object({
    kind: z.literal('http'),
    url: z.string(),
    headerNames: z.array(z.string()),
    format: z.enum(memberFormats).optional(),
  }),
  z.object({
    kind: z.literal('sql'),
    host: z.string(),
    database: z.string(),
    query: z.string(),
    statementTimeoutSeconds: z.number(),
  }),
])
export type MembershipView = z.infer<typeof MembershipViewSchema>

const durationText = z.string().regex(/^\d+(\.\d+)?\s*(s|m|h|d)$/, 'must be a duration such as 30s, 15m, 6h or 1d')

/** When syncs start by themselves: by cron (`0 6 * * *`, in `timezone`, UTC unless given) or at an interval (`15m`), up to
 *  `jitter` later, at once unless given. */
export const AudienceScheduleSchema = z
  .strictObject({
    cron: z.string().min(1).max(200).optional(),
    interval: durationText.optional(),
    jitter: durationText.optional(),
    timezone: z.string().max(100).optional(),
  })
  .refine(
    ({ cron, interval }) => (cron === undefined) !== (interval === undefined),
    'must have either cron or interval',
  )
export type AudienceSchedule = z.infer<typeof AudienceScheduleSchema>

const share = z.number().min(0).max(1)
const destinationIds = z.array(z.string()).max(maxAudienceDestinations)
const key = z
  .string()
  .max(maxKeyLength)
  .regex(/^[^\s_\p{Lu}\p{Cc}][^\s\p{Lu}\p{Cc}]*$/u, 'must be a name in snake_case')

const options = {
  /** Share of rows that may be bad, from 0 to 1, before a sync fails; 0 unless given. */
  maxBadRowShare: share,
  /** Share of a destination's members, from 0 to 1, that a sync may remove before it must be confirmed; 0.5 unless given. */
  maxRemovalShare: share,
  /** Most Identify calls a second to each destination; `null`, the default: as many as it takes. */
  maxPerSecond: z.int().min(1).max(100_000).nullable(),
}

/** An audience to be made. */
export const NewAudienceSchema = z.strictObject({
  name: NameSchema,
  /** The trait's name; absent: the name in snake_case. */
  key: key.optional(),
  kind: AudienceKindSchema.default('audience'),
  destinationIds: destinationIds.default([]),
  membership: MembershipSchema.default({ kind: 'push' }),
  schedule: AudienceScheduleSchema.nullish(),
  maxBadRowShare: options.maxBadRowShare.default(0),
  maxRemovalShare: options.maxRemovalShare.default(0.5),
  maxPerSecond: options.maxPerSecond.default(null),
})
export type NewAudience = z.infer<typeof NewAudienceSchema>

/** A change of an audience: what it names; the rest stays. */
export const AudiencePatchSchema = z.strictObject({
  name: NameSchema.optional(),
  /** Asked for by a new name that has another key: `true` keeps the key, `false` takes the new one. */
  keepKey: z.boolean().optional(),
  destinationIds: destinationIds.optional(),
  membership: MembershipSchema.optional(),
  schedule: AudienceScheduleSchema.nullish(),
  maxBadRowShare: options.maxBadRowShare.optional(),
  maxRemovalShare: options.maxRemovalShare.optional(),
  maxPerSecond: options.maxPerSecond.optional(),
})
export type AudiencePatch = z.infer<typeof AudiencePatchSchema>

/** An audience, without its secrets. */
export const AudienceSchema = z.object({
  id: z.string(),
  name: z.string(),
  key: z.string(),
  kind: AudienceKindSchema,
  destinationIds: z.array(z.string()),
  membership: MembershipViewSchema,
  schedule: AudienceScheduleSchema.nullable(),
  /** Whether the schedule is paused. */
  paused: z.boolean(),
  ...options,
  /** Members of the last membership that was taken over. */
  members: z.number(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
})
export type Audience = z.infer<typeof AudienceSchema>

/** Users to add and to remove, at most `maxChangedUsers` each: user ids, or members as in an upload. */
export const MemberChangeSchema = z.strictObject({
  add: z.array(z.unknown()).max(maxChangedUsers).default([]),
  remove: z.array(z.unknown()).max(maxChangedUsers).default([]),
})
export type MemberChange = z.infer<typeof MemberChangeSchema>

/** A member as it is now. */
export const AudienceMemberSchema = z.object({
  userId: z.string(),
  /** Of a computed trait; null in an audience. */
  value: z.unknown(),
  traits: z.record(z.string(), z.unknown()).nullable(),
  /** Destinations that know the member with this value. */
  acknowledgedBy: z.array(z.string()),
})
export type AudienceMember = z.infer<typeof AudienceMemberSchema>

const noNul = (text: string): boolean => !text.includes('\0')

/** The beginning of the user ids to list; all of them unless given. */
export const MemberSearchSchema = z.string().max(maxUserIdLength).refine(noNul, 'must not have a NUL').default('')

/** A row that is not a member; `line` counts from 1. */
export const BadRowSchema = z.object({ line: z.number(), reason: z.string() })
export type BadRow = z.infer<typeof BadRowSchema>

/** How a sync stands: `refused` waits for somebody to confirm what it would remove; `failed` told nobody, or not all. */
export const syncStatuses = ['running', 'completed', 'failed', 'refused', 'stopped'] as const
/** One of `syncStatuses`. */
export const SyncStatusSchema = z.enum(syncStatuses)
export type SyncStatus = z.infer<typeof SyncStatusSchema>

/** What a sync does: `upload` and `change` bring members, `sync` fetches them, `resync` tells every member again, `undo` takes
 *  a sync back, and `delete` removes all members before the audience goes. */
export const syncKinds = ['upload', 'change', 'sync', 'resync', 'undo', 'delete'] as const
/** One of `syncKinds`. */
export const SyncKindSchema = z.enum(syncKinds)
export type SyncKind = z.infer<typeof SyncKindSchema>

/** What a sync does, in this order. */
export const syncPhases = ['waiting', 'loading', 'comparing', 'sending', 'ended'] as const
/** One of `syncPhases`. */
export const SyncPhaseSchema = z.enum(syncPhases)
export type SyncPhase = z.infer<typeof SyncPhaseSchema>

/** One run of an audience. `added`, `removed` and `unchanged` count users, `sent` and `failed` Identify calls. */
export const SyncSchema = z.object({
  id: z.string(),
  audienceId: z.string(),
  kind: SyncKindSchema,
  status: SyncStatusSchema,
  /** Where a running sync stands; a waiting one has status `running` and no `startedAt`. */
  phase: SyncPhaseSchema,
  rowsRead: z.number(),
  badRows: z.number(),
  /** The first bad rows, with their line numbers. */
  badRowSample: z.array(BadRowSchema),
  added: z.number(),
  removed: z.number(),
  unchanged: z.number(),
  /** Delivered at the first attempt. */
  sent: z.number(),
  /** Users whose call failed and got a delivery of its own, which tries for its whole window. */
  handedOn: z.number(),
  /** Refused for good, now or at the end of that window: sent again by the next sync. */
  failed: z.number(),
  /** Identify calls a second since the sending began. */
  rate: z.number(),
  requestedAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
  reason: z.string().nullable(),
  /** Whether it told something that can be taken back. */
  undoable: z.boolean(),
})
export type Sync = z.infer<typeof SyncSchema>

/** What a sync would do; nothing is sent. */
export const PreviewSchema = z.object({
  rowsRead: z.number(),
  badRows: z.number(),
  badRowSample: z.array(BadRowSchema),
  /** Why a sync would fail and send nothing; null when it would not. */
  refusal: z.string().nullable(),
  destinations: z.array(
    z.object({
      destinationId: z.string(),
      added: z.number(),
      removed: z.number(),
      unchanged: z.number(),
      /** Whether a sync would be refused until it is confirmed. */
      needsConfirmation: z.boolean(),
      /** Bodies of the first Identify calls. */
      sample: z.array(z.record(z.string(), z.unknown())),
    }),
  ),
})
export type Preview = z.infer<typeof PreviewSchema>
