/** Deletion requests, as the management API takes and shows them. */

import { z } from 'zod'

/** Most users of one request. */
export const maxDeletionUsers = 5_000

/** Most sources that one request names. */
export const maxDeletionSources = 100

/** Longest user id, in characters: an event's is never longer, as a call has at most 32 KB (`spec/`, "Limits"). */
const maxUserIdLength = 32_768

const UserIdSchema = z
  .string()
  .min(1)
  .max(maxUserIdLength)
  .refine((id) => id.isWellFormed() && !id.includes('\0'), 'must have neither NUL nor half a surrogate pair')

/** A deletion request to be made: each source is told about each user once (`spec/`, "Events", `delete`). */
export const NewDeletionRequestSchema = z.strictObject({
  userIds: z.array(UserIdSchema).min(1).max(maxDeletionUsers),
  /** Only these sources; all with a destination that is switched on unless given. */
  sourceIds: z.array(z.string().max(255)).min(1).max(maxDeletionSources).optional(),
  /** Whether later events of these users are dropped at the door; `false` unless given. */
  suppress: z.boolean().default(false),
})
export type NewDeletionRequest = z.infer<typeof NewDeletionRequestSchema>

/** How far a deletion request is. */
export const DeletionRequestSchema = z.object({
  id: z.string(),
  /** `waiting` until Temporal takes it, `running`, or `completed`: every notification has started. */
  status: z.enum(['waiting', 'running', 'completed']),
  createdAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
  suppress: z.boolean(),
  users: z.int(),
  /** Sources that had a destination when the request was made. */
  sourceIds: z.array(z.string()),
  /** Notifications in all: one per user and source. */
  notifications: z.int(),
  /** Those whose delivery has started, and those whose source had no destination any more. */
  started: z.int(),
  skipped: z.int(),
  /** Waiting deliveries and queued events of the users that were called off. */
  cancelled: z.int(),
})
export type DeletionRequest = z.infer<typeof DeletionRequestSchema>

/** One deletion request, with what became of its notifications. */
export const DeletionRequestDetailSchema = DeletionRequestSchema.extend({
  /** Notifications that arrived, and that failed; null while Temporal does not answer. */
  delivered: z.int().nullable(),
  failed: z.int().nullable(),
})
export type DeletionRequestDetail = z.infer<typeof DeletionRequestDetailSchema>
