/** Events that became no delivery, as the management API shows them. */

import { z } from 'zod'

/** Fates of events that became no delivery. */
export const turnedAwayFates = ['rejected', 'filtered', 'no_destination', 'suppressed', 'dropped'] as const
/** One of `turnedAwayFates`. */
export const TurnedAwayFateSchema = z.enum(turnedAwayFates)
export type TurnedAwayFate = z.infer<typeof TurnedAwayFateSchema>

/** Reason of an event that filters of destinations left out. */
export const filteredByRules = 'filtered_by_rules'

/** One event that became no delivery, as the list shows it. */
export const TurnedAwayEventSchema = z.object({
  id: z.string().describe('Id under which it can be looked at'),
  at: z.iso.datetime().describe('When it came, ISO 8601'),
  sourceId: z.string().describe('Source that it came to'),
  fate: TurnedAwayFateSchema.describe('What became of it'),
  reason: z
    .string()
    .nullable()
    .describe(
      'Code of the error that refused it, or `filtered_by_rules`; null for other fates, and where its `integrations` alone exclude all',
    ),
  message: z.string().nullable().describe('The sentence that the caller got, or which filters left it out'),
  type: z.string().nullable().describe("Null where the caller's could not be read; likewise the others"),
  event: z.string().nullable().describe('Name of the event; null where it has none, or none that could be read'),
  userId: z.string().nullable().describe('User of the event; null where it has none, or none that could be read'),
  messageId: z.string().nullable().describe('Message id of the event; null where none could be read'),
})
export type TurnedAwayEvent = z.infer<typeof TurnedAwayEventSchema>

/** One event with what it held. */
export const TurnedAwayDetailSchema = TurnedAwayEventSchema.extend({
  body: z
    .string()
    .nullable()
    .describe('JSON, of a long one its beginning; null where it could not be told apart from others'),
})
export type TurnedAwayDetail = z.infer<typeof TurnedAwayDetailSchema>

/** Which events: all members that are given must fit. */
export const TurnedAwayFilterSchema = z.strictObject({
  sourceId: z.string().max(255).optional().describe('Source that they came to'),
  destinationId: z.string().max(255).optional().describe('They came to a source of this destination'),
  fate: TurnedAwayFateSchema.optional().describe('What became of them'),
  reason: z.string().max(100).optional().describe('Code of the error that refused them, or `filtered_by_rules`; exact'),
  messageId: z.string().max(32_768).optional().describe('Message id in full; its first 255 characters are compared'),
  userId: z.string().max(32_768).optional().describe('User id in full; its first 255 characters are compared'),
  since: z.iso.datetime({ offset: true }).optional().describe('Came in at or after this time'),
  until: z.iso.datetime({ offset: true }).optional().describe('Came in before this time'),
})
export type TurnedAwayFilter = z.infer<typeof TurnedAwayFilterSchema>
