/** A filter and a mapping that are tried on events which came in already: what would have become of each; nothing is sent. */

import { z } from 'zod'
import { FilterSchema } from './filter.ts'
import { MappingSchema } from './mapping.ts'

/** Most events that a draft is tried on. */
export const maxRehearsed = 100
/** Events that it is tried on unless it is said. */
const defaultRehearsed = 50
/** Events of each outcome that are shown. */
export const maxShown = 10

/** What is tried, and on how many events. */
export const RehearseRequestSchema = z.strictObject({
  filter: FilterSchema.nullish().describe('Filter that is tried; the saved one unless given, `null`: none'),
  mapping: MappingSchema.nullish().describe('Mapping that is tried; the saved one unless given, `null`: none'),
  limit: z
    .int()
    .min(1)
    .max(maxRehearsed)
    .default(defaultRehearsed)
    .describe('Newest events of its sources that it is tried on, 1 to 100; 50 unless given'),
})
export type RehearseRequest = z.infer<typeof RehearseRequestSchema>

/** What would have become of an event: sent as it is, sent as the mapping changes it, left out by the filter, or failed since the mapping
 *  could not be applied. */
export const RehearsedOutcomeSchema = z.enum(['sent', 'changed', 'dropped', 'failed'])
export type RehearsedOutcome = z.infer<typeof RehearsedOutcomeSchema>

/** One event, and what would have become of it. */
export const RehearsedEventSchema = z.object({
  sourceId: z.string().describe('Source that it came to'),
  messageId: z.string().describe('Message id of the event; of a long one its beginning'),
  at: z.iso.datetime().describe('When it came, ISO 8601'),
  outcome: RehearsedOutcomeSchema.describe('What would have become of it'),
  reason: z
    .string()
    .nullable()
    .describe('What of the filter it does not fit, or why the mapping could not be applied; null for one that is sent'),
  before: z.record(z.string(), z.unknown()).describe('The event as it is recorded'),
  after: z.record(z.string(), z.unknown()).nullable().describe('What endpoints would get; null: nothing'),
})
export type RehearsedEvent = z.infer<typeof RehearsedEventSchema>

/** What would have become of the newest events. */
export const RehearsalSchema = z.object({
  tried: z.int().describe('Events that it was tried on'),
  since: z.iso.datetime().nullable().describe('When the oldest of them came, ISO 8601; null where there are none'),
  sent: z.int().describe('Events that would be sent, changed ones too'),
  changed: z.int().describe('Those of them that the mapping changes'),
  dropped: z.int().describe('Events that would be left out'),
  failed: z.int().describe('Events that would fail, since the mapping cannot be applied'),
  items: z.array(RehearsedEventSchema).describe('Newest first, at most 10 of each outcome'),
})
export type Rehearsal = z.infer<typeof RehearsalSchema>
