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

const PushSchema = z.strictObject({ kind: z.literal('push').describe('Members are uploaded') })

const HttpPullSchema = z.strictObject({
  kind: z.literal('http').describe('Members are fetched over HTTP at each sync'),
  url: httpUrl.describe('Where the membership is fetched, at most 2,048 characters'),
  headers: z
    .record(z.string(), z.string().max(4_096, 'must have a value of at most 4096 characters'))
    .refine((entries) => Object.keys(entries).length <= maxPullHeaders, `must have at most ${maxPullHeaders} headers`)
    .optional()
    .describe('Sent to the origin of `url` alone; in a change, absent headers stay as they are while the origin stays'),
  format: z.enum(memberFormats).optional().describe('What the answer is; absent: as its Content-Type says'),
})

const SqlPullSchema = z.strictObject({
  kind: z.literal('sql').describe('Members are read by a SQL statement at each sync'),
  connectionString: z
    .string()
    .max(2_048)
    .optional()
    .describe('`postgres://user:password@host:port/database?sslmode=…`; in a change, absent means unchanged'),
  query: z
    .string()
    .min(1)
    .max(maxQueryLength)
    .describe(
      'One statement that gives a column `user_id`, for computed traits `value`; further columns become traits',
    ),
  statementTimeoutSeconds: z
    .int()
    .min(1)
    .max(maxStatementTimeoutSeconds)
    .default(300)
    .describe('How long the statement may take, in seconds; 300 unless given'),
})

/** Where an audience's members come from: they are uploaded (`push`), fetched over HTTP, or read by a SQL statement. */
export const MembershipSchema = z.discriminatedUnion('kind', [PushSchema, HttpPullSchema, SqlPullSchema])
export type Membership = z.infer<typeof MembershipSchema>

/** Where members come from, as it is shown: without header values, user and password. */
export const MembershipViewSchema = z.discriminatedUnion('kind', [
  PushSchema,
  z.object({
    kind: z.literal('http').describe('Members are fetched over HTTP at each sync'),
    url: z.string().describe('Where the membership is fetched'),
    headerNames: z.array(z.string()).describe('Names of the headers that are sent with it, without their values'),
    format: z.enum(memberFormats).optional().describe('What the answer is; absent: as its Content-Type says'),
  }),
  z.object({
    kind: z.literal('sql').describe('Members are read by a SQL statement at each sync'),
    host: z.string().describe('Host of the database, with its port'),
    database: z.string().describe('Name of the database'),
    query: z.string().describe('The statement that gives the members'),
    statementTimeoutSeconds: z.number().describe('How long the statement may take, in seconds, from 1 to 3,600'),
  }),
])
export type MembershipView = z.infer<typeof MembershipViewSchema>

const durationText = z.string().regex(/^\d+(\.\d+)?\s*(s|m|h|d)$/, 'must be a duration such as 30s, 15m, 6h or 1d')

/** When syncs start by themselves: by cron (`0 6 * * *`, in `timezone`, UTC unless given) or at an interval (`15m`), up to
 *  `jitter` later, at once unless given. */
export const AudienceScheduleSchema = z
  .strictObject({
    cron: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Five fields, as in `0 6 * * *`, at most 200 characters; absent where there is an interval'),
    interval: durationText
      .optional()
      .describe('Time between two syncs, as in 15m, 6h or 1d, at least 1m; absent where there is a cron line'),
    jitter: durationText
      .optional()
      .describe('A sync starts up to this much later, as in 30s, chosen at random; at once unless given'),
    timezone: z
      .string()
      .max(100)
      .optional()
      .describe('Time zone of the cron line, as in Europe/Berlin, at most 100 characters; UTC unless given'),
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
  maxBadRowShare: share.describe('Share of rows that may be bad, from 0 to 1, before a sync fails; 0 unless given'),
  maxRemovalShare: share.describe(
    "Share of a destination's members, from 0 to 1, that a sync may remove before it must be confirmed; 0.5 unless given",
  ),
  maxPerSecond: z
    .int()
    .min(1)
    .max(100_000)
    .nullable()
    .describe('Most Identify calls a second to each destination; `null`, the default: as many as it takes'),
}

/** An audience to be made. */
export const NewAudienceSchema = z.strictObject({
  name: NameSchema.describe('Name for people, 1 to 200 characters'),
  key: key.optional().describe("The trait's name; absent: the name in snake_case"),
  kind: AudienceKindSchema.default('audience').describe(
    'What users have of it: that they are in it (`audience`, the default), or a value of their own (`trait`)',
  ),
  destinationIds: destinationIds
    .default([])
    .describe('Destinations that are told of its members, at most 100; none unless given'),
  membership: MembershipSchema.default({ kind: 'push' }).describe(
    'Where its members come from; they are uploaded unless given',
  ),
  schedule: AudienceScheduleSchema.nullish().describe('When syncs start by themselves; never unless given'),
  maxBadRowShare: options.maxBadRowShare
    .default(0)
    .describe('Share of rows that may be bad before a sync fails, from 0 to 1; 0 unless given'),
  maxRemovalShare: options.maxRemovalShare
    .default(0.5)
    .describe(
      "Share of a destination's members that a sync may remove before it must be confirmed, from 0 to 1; 0.5 unless given",
    ),
  maxPerSecond: options.maxPerSecond
    .default(null)
    .describe(
      'Most Identify calls a second to each destination, from 1 to 100,000; null, the default: as many as it takes',
    ),
})
export type NewAudience = z.infer<typeof NewAudienceSchema>

/** A change of an audience: what it names; the rest stays. */
export const AudiencePatchSchema = z.strictObject({
  name: NameSchema.optional().describe('Another name, 1 to 200 characters'),
  keepKey: z
    .boolean()
    .optional()
    .describe('Asked for by a new name that has another key: `true` keeps the key, `false` takes the new one'),
  destinationIds: destinationIds
    .optional()
    .describe('All destinations that are told of its members from now on, at most 100'),
  membership: MembershipSchema.optional().describe('Where its members come from now on'),
  schedule: AudienceScheduleSchema.nullish().describe('When syncs start by themselves from now on; null: never'),
  maxBadRowShare: options.maxBadRowShare
    .optional()
    .describe('Share of rows that may be bad before a sync fails, from 0 to 1'),
  maxRemovalShare: options.maxRemovalShare
    .optional()
    .describe("Share of a destination's members that a sync may remove before it must be confirmed, from 0 to 1"),
  maxPerSecond: options.maxPerSecond
    .optional()
    .describe('Most Identify calls a second to each destination, from 1 to 100,000; null: as many as it takes'),
})
export type AudiencePatch = z.infer<typeof AudiencePatchSchema>

/** An audience, without its secrets. */
export const AudienceSchema = z.object({
  id: z.string().describe('Id of the audience'),
  name: z.string().describe('Name for people'),
  key: z.string().describe('Name of the trait that destinations are told, in snake_case, at most 100 characters'),
  kind: AudienceKindSchema.describe(
    'What users have of it: that they are in it (`audience`), or a value of their own (`trait`)',
  ),
  destinationIds: z.array(z.string()).describe('Destinations that are told of its members'),
  membership: MembershipViewSchema.describe('Where its members come from, without secrets'),
  schedule: AudienceScheduleSchema.nullable().describe('When syncs start by themselves; null: never'),
  paused: z.boolean().describe('Whether the schedule is paused'),
  ...options,
  members: z.number().describe('Members of the last membership that was taken over'),
  createdAt: z.iso.datetime().describe('When it was made, ISO 8601'),
  updatedAt: z.iso.datetime().describe('When its settings changed last, ISO 8601'),
})
export type Audience = z.infer<typeof AudienceSchema>

/** Users to add and to remove, at most `maxChangedUsers` each: user ids, or members as in an upload. */
export const MemberChangeSchema = z.strictObject({
  add: z
    .array(z.unknown())
    .max(maxChangedUsers)
    .default([])
    .describe('Users to add, at most 100,000; none unless given'),
  remove: z
    .array(z.unknown())
    .max(maxChangedUsers)
    .default([])
    .describe('Users to remove, at most 100,000; none unless given'),
})
export type MemberChange = z.infer<typeof MemberChangeSchema>

/** A member as it is now. */
export const AudienceMemberSchema = z.object({
  userId: z.string().describe('Id of the user, at most 512 characters'),
  value: z.unknown().describe('Of a computed trait; null in an audience'),
  traits: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('Further traits that Identify calls carry, with the value at most 24 KB; null where there are none'),
  acknowledgedBy: z.array(z.string()).describe('Destinations that took the call with this value'),
  handedOn: z
    .array(
      z.object({
        destinationId: z.string().describe('Id of the destination'),
        deliveryId: z.string().describe('Id of the delivery, which tells what came of it'),
      }),
    )
    .describe('Destinations whose call with this value failed and got a delivery of its own'),
})
export type AudienceMember = z.infer<typeof AudienceMemberSchema>

const noNul = (text: string): boolean => !text.includes('\0')

/** The beginning of the user ids to list; all of them unless given. */
export const MemberSearchSchema = z.string().max(maxUserIdLength).refine(noNul, 'must not have a NUL').default('')

/** A row that is not a member; `line` counts from 1. */
export const BadRowSchema = z.object({
  line: z.number().describe('Line of the upload or answer, from 1; of a JSON array or a query, the place of the row'),
  reason: z.string().describe('What is wrong with it, in words'),
})
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
  id: z.string().describe('Id of the sync'),
  audienceId: z.string().describe('Id of its audience'),
  kind: SyncKindSchema.describe('What it does'),
  status: SyncStatusSchema.describe('How it stands; `refused` waits to be confirmed'),
  phase: SyncPhaseSchema.describe('Where a running sync stands; a waiting one has status `running` and no `startedAt`'),
  rowsRead: z.number().describe('Rows of the membership that were read, good and bad'),
  badRows: z.number().describe('Those of them that are not members'),
  badRowSample: z.array(BadRowSchema).describe('The first bad rows, with their line numbers'),
  added: z
    .number()
    .describe('Members whom some destination does not know yet, or with another value; also one that is switched off'),
  removed: z.number().describe('Users who are in the audience no more, and whom some destination knows as members'),
  unchanged: z.number().describe('Users of which there is nothing to tell'),
  sent: z.number().describe('Delivered at the first attempt'),
  handedOn: z
    .number()
    .describe('Users whose call failed and got a delivery of its own, which tries for its whole window'),
  failed: z.number().describe('Refused for good, now or at the end of that window: sent again by the next sync'),
  rate: z.number().describe('Identify calls a second since the sending began'),
  requestedAt: z.iso.datetime().describe('When it was asked for, ISO 8601'),
  startedAt: z.iso.datetime().nullable().describe('When it began, ISO 8601; null while it waits for its turn'),
  endedAt: z.iso.datetime().nullable().describe('When it ended, ISO 8601; null while it has not'),
  reason: z
    .string()
    .nullable()
    .describe(
      'Why it failed, was refused or stopped, in words; of one that completed, the first call that failed for good: the id of the destination and why, or which destination was passed over; null otherwise',
    ),
  undoable: z.boolean().describe('Whether it told something that can be taken back'),
  usersKept: z.boolean().describe('Whether it is still known whom it told what'),
})
export type Sync = z.infer<typeof SyncSchema>

/** What became of a user at a destination: not called yet; the call was taken; it failed and got a delivery of its own; it was refused for
 *  good; no call is made any more, as of a user who was deleted. */
export const syncUserOutcomes = ['open', 'sent', 'handed_on', 'failed', 'withheld'] as const
/** One of `syncUserOutcomes`. */
export const SyncUserOutcomeSchema = z.enum(syncUserOutcomes)
export type SyncUserOutcome = z.infer<typeof SyncUserOutcomeSchema>

/** What a sync tells a destination of a user. */
export const SyncUserSchema = z.object({
  userId: z.string().describe('Id of the user'),
  destinationId: z.string().nullable().describe('Id of the destination that is told; null when it is gone'),
  change: z
    .enum(['added', 'removed', 'changed', 'repeated'])
    .describe('What it is told: `changed` is another value, `repeated` what it knew already'),
  value: z.unknown().describe('Of a computed trait; null in an audience, and where it is gone'),
  outcome: SyncUserOutcomeSchema.describe('What became of it'),
  deliveryId: z.string().nullable().describe('Id of its own delivery, of one that was handed on; null otherwise'),
})
export type SyncUser = z.infer<typeof SyncUserSchema>

/** What a sync would do; nothing is sent. */
export const PreviewSchema = z.object({
  rowsRead: z.number().describe('Rows of the membership that were read, good and bad'),
  badRows: z.number().describe('Those of them that are not members'),
  badRowSample: z.array(BadRowSchema).describe('The first bad rows, with their line numbers'),
  refusal: z.string().nullable().describe('Why a sync would fail and send nothing; null when it would not'),
  destinations: z
    .array(
      z.object({
        destinationId: z.string().describe('Id of the destination'),
        added: z.number().describe('Users that it would be told to add'),
        removed: z.number().describe('Users that it would be told to remove'),
        unchanged: z.number().describe('Users of which it knows already what there is to know'),
        needsConfirmation: z.boolean().describe('Whether a sync would be refused until it is confirmed'),
        sample: z.array(z.record(z.string(), z.unknown())).describe('Bodies of the first Identify calls'),
      }),
    )
    .describe('What each destination would be told'),
})
export type Preview = z.infer<typeof PreviewSchema>
