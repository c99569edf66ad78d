/** Events that became no delivery, as the management API shows them. */

import { z } from 'zod'

/** Fates of events that became no delivery. */
export const turnedAwayFates = ['rejected', 'filtered', 'no_destination', 'suppressed', 'dropped'] as const
/** One of `turnedAwayFates`. */
export const TurnedAwayFateSchema = z.enum(turnedAwayFates)
export type TurnedAwayFate = z.infer<typeof TurnedAwayFateSchema>

/** One event that became no delivery, as the list shows it. */
export const TurnedAwayEventSchema = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  sourceId: z.string(),
  fate: TurnedAwayFateSchema,
  /** Code of the error that refused it; null for other fates. */
  reason: z.string().nullable(),
  /** The sentence that the caller got. */
  message: z.string().nullable(),
  /** Null where the caller's could not be read; likewise the others. */
  type: z.string().nullable(),
  event: z.string().nullable(),
  userId: z.string().nullable(),
  messageId: z.string().nullable(),
})
export type TurnedAwayEvent = z.infer<typeof TurnedAwayEventSchema>

/** One event with what it held. */
export const TurnedAwayDetailSchema = TurnedAwayEventSchema.extend({
  /** JSON, of a long one its beginning; null where it could not be told apart from others. */
  body: z.string().nullable(),
})
export type TurnedAwayDetail = z.infer<typeof TurnedAwayDetailSchema>

/** Which events: all members that are given must fit. */
export const TurnedAwayFilterSchema = z.strictObject({
  sourceId: z.string().max(255).optional(),
  fate: TurnedAwayFateSchema.optional(),
  reason: z.string().max(100).optional(),
  /** Ids in full: of longer ones than 255 characters, as many are compared. */
  messageId: z.string().max(32_768).optional(),
  userId: z.string().max(32_768).optional(),
  /** Came in at or after this time. */
  since: z.iso.datetime({ offset: true }).optional(),
  /** Came in before this time. */
  until: z.iso.datetime({ offset: true }).optional(),
})
export type TurnedAwayFilter = z.infer<typeof TurnedAwayFilterSchema>
