/** Deletion requests, as the management API takes and shows them. */

import { z } from 'zod'

/** Most users of one request. */
export const maxDeletionUsers = 5_000

/** Most users whose suppression ends at a time. */
export const maxLiftedUsers = 1_000

/** Most sources that one request names. */
export const maxDeletionSources = 100

/** Longest user id, in characters: an event's is never longer, as a call has at most 32 KB (`spec/`, "Limits"). */
const maxUserIdLength = 32_768

const SourceIdsSchema = z.array(z.string().max(255)).min(1).max(maxDeletionSources)

const UserIdSchema = z
  .string()
  .min(1)
  .max(maxUserIdLength)
  .refine((id) => id.isWellFormed() && !id.includes('\0'), 'must have neither NUL nor half a surrogate pair')

/** A deletion request to be made: each source is told about each user once (`spec/`, "Events", `delete`). */
export const NewDeletionRequestSchema = z.strictObject({
  userIds: z
    .array(UserIdSchema)
    .min(1)
    .max(maxDeletionUsers)
    .describe('Users to delete, 1 to 5,000; each id 1 to 32,768 characters'),
  sourceIds: SourceIdsSchema.optional().describe(
    'Only these sources; all with a destination that is switched on unless given',
  ),
  suppress: z
    .boolean()
    .default(false)
    .describe('Whether later events of these users are dropped at the door; `false` unless given'),
})
export type NewDeletionRequest = z.infer<typeof NewDeletionRequestSchema>

/** How far a deletion request is. */
export const DeletionRequestSchema = z.object({
  id: z.string().describe('Id of the request'),
  status: z
    .enum(['waiting', 'running', 'completed'])
    .describe('`waiting` until Temporal takes it, `running`, or `completed`: every notification has started'),
  createdAt: z.iso.datetime().describe('When it was made, ISO 8601'),
  endedAt: z.iso
    .datetime()
    .nullable()
    .describe('When the last of its notifications had started, ISO 8601; null before'),
  erasedAt: z.iso
    .datetime()
    .nullable()
    .describe(
      'When the keys of its users were destroyed, ISO 8601: once the last notification had ended; null before, and for a request of an earlier version',
    ),
  suppress: z.boolean().describe('Whether later events of these users are dropped at the door'),
  users: z.int().describe('How many users it names, each counted once'),
  sourceIds: z.array(z.string()).describe('Sources that had a destination when the request was made'),
  notifications: z.int().describe('Notifications in all: one per user and source'),
  started: z.int().describe('Those whose delivery has started, and those whose source had no destination any more'),
  skipped: z.int().describe('Notifications that were not made, as their source had no destination any more'),
  cancelled: z.int().describe('Waiting deliveries and queued events of the users that were called off'),
  deliveries: z
    .int()
    .describe(
      'Deliveries of the users that Postrider still knew of: what they held cannot be read once the keys are gone',
    ),
  keys: z.int().describe('Keys that were destroyed: one for each user and source, and that of the notifications'),
})
export type DeletionRequest = z.infer<typeof DeletionRequestSchema>

/** One deletion request, with what became of its notifications. */
export const DeletionRequestDetailSchema = DeletionRequestSchema.extend({
  delivered: z
    .int()
    .nullable()
    .describe('Notifications that arrived, and that failed; null while Temporal does not answer'),
  failed: z.int().nullable().describe('Notifications that no endpoint took; null while Temporal does not answer'),
})
export type DeletionRequestDetail = z.infer<typeof DeletionRequestDetailSchema>

/** Users who are to be heard again after a deletion request with `suppress`. */
export const LiftSuppressionsSchema = z.strictObject({
  userIds: z
    .array(UserIdSchema)
    .min(1)
    .max(maxLiftedUsers)
    .describe('Users whose later events are to be delivered again, 1 to 1,000; each id 1 to 32,768 characters'),
  sourceIds: SourceIdsSchema.optional().describe(
    'Only for these sources, where the requests named them; everywhere unless given',
  ),
})
export type LiftSuppressions = z.infer<typeof LiftSuppressionsSchema>

/** What came of lifting suppressions. */
export const LiftedSuppressionsSchema = z.object({
  lifted: z.int().describe('How many of the users were suppressed there'),
  remaining: z
    .int()
    .describe('How many of them are suppressed still: in all sources, which a call that names sources does not end'),
})
export type LiftedSuppressions = z.infer<typeof LiftedSuppressionsSchema>
