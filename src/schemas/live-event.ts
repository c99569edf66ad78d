/** An incoming event as the live stream of its source shows it. */

import { z } from 'zod'

/** Longest text that is shown and kept of such an event, in characters: that of a longer one is cut. */
export const maxLiveText = 255

/** One event at the door, and its fate there. */
export const LiveEventSchema = z.object({
  at: z.iso.datetime().describe('When it came, ISO 8601'),
  type: z.string().nullable().describe("Null where the caller's could not be read; likewise `messageId`"),
  event: z.string().nullable().describe('Name of the event; null where it has none, or none that could be read'),
  userId: z.string().nullable().describe('User of the event; null where it has none, or none that could be read'),
  messageId: z.string().nullable().describe('Message id of the event; null where none could be read'),
  fate: z
    .enum(['accepted', 'no_destination', 'filtered', 'suppressed', 'dropped', 'rejected'])
    .describe('What became of it at the door'),
  reason: z.string().optional().describe('Why it was refused'),
  deliveryId: z.string().optional().describe('Id of its delivery, when it was accepted'),
  turnedAwayId: z.string().optional().describe('Of one that became no delivery: by it the event can be looked at'),
})
export type LiveEvent = z.infer<typeof LiveEventSchema>
