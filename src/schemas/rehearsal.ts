/** A filter that is tried on events which came in already: what would have become of each; nothing is sent. */

import { z } from 'zod'
import { FilterSchema } from './filter.ts'

/** Most events that a draft is tried on. */
export const maxRehearsed = 100
/** Events that it is tried on unless it is said. */
const defaultRehearsed = 50
/** Events of each outcome that are shown. */
export const maxShown = 10

/** What is tried, and on how many events. */
export const RehearseRequestSchema = z.strictObject({
  filter: FilterSchema.nullish().describe('Filter that is tried; the saved one unless given, `null`: none'),
  limit: z
    .int()
    .min(1)
    .max(maxRehearsed)
    .default(defaultRehearsed)
    .describe('Newest events of its sources that it is tried on, 1 to 100; 50 unless given'),
})
export type RehearseRequest = z.infer<typeof RehearseRequestSchema>

/** What would have become of an event: sent or not. */
export const RehearsedOutcomeSchema = z.enum(['sent', 'dropped'])
export type RehearsedOutcome = z.infer<typeof RehearsedOutcomeSchema>

/** One event, and what would have become of it. */
export const RehearsedEventSchema = z.object({
  sourceId: z.string().describe('Source that it came to'),
  messageId: z.string().describe('Message id of the event; of a long one its beginning'),
  at: z.iso.datetime().describe('When it came, ISO 8601'),
  outcome: RehearsedOutcomeSchema.describe('What would have become of it'),
  reason: z.string().nullable().describe('What of the filter it does not fit; null for one that is sent'),
  before: z.record(z.string(), z.unknown()).describe('The event as it is recorded'),
  after: z.record(z.string(), z.unknown()).nullable().describe('What endpoints would get; null: nothing'),
})
export type RehearsedEvent = z.infer<typeof RehearsedEventSchema>

/** What would have become of the newest events. */
export const RehearsalSchema = z.object({
  tried: z.int().describe('Events that it was tried on'),
  since: z.iso.datetime().nullable().describe('When the oldest of them came, ISO 8601; null where there are none'),
  sent: z.int().describe('Events that would be sent'),
  dropped: z.int().describe('Events that would be left out'),
  items: z.array(RehearsedEventSchema).describe('Newest first, at most 10 of each outcome'),
})
export type Rehearsal = z.infer<typeof RehearsalSchema>
