/** An incoming event as the live stream of its source shows it. */

import { z } from 'zod'

/** Longest text that is shown and kept of such an event, in characters: that of a longer one is cut. */
export const maxLiveText = 255

/** One event at the door, and its fate there. */
export const LiveEventSchema = z.object({
  /** When it came, ISO 8601. */
  at: z.iso.datetime(),
  /** Null where the caller's could not be read; likewise `messageId`. */
  type: z.string().nullable(),
  event: z.string().nullable(),
  userId: z.string().nullable(),
  messageId: z.string().nullable(),
  fate: z.enum(['accepted', 'no_destination', 'filtered', 'suppressed', 'dropped', 'rejected']),
  /** Why it was refused. */
  reason: z.string().optional(),
  /** Id of its delivery, when it was accepted. */
  deliveryId: z.string().optional(),
  /** Of one that became no delivery: by it the event can be looked at. */
  turnedAwayId: z.string().optional(),
})
export type LiveEvent = z.infer<typeof LiveEventSchema>
