/** Sources, as the management API takes and shows them. */

import { z } from 'zod'

/** Longest name, in characters. */
export const maxNameLength = 200

/** The name of a source, destination, audience or API token: 1 to `maxNameLength` characters, blanks around it cut off. */
export const NameSchema = z.string().trim().min(1).max(maxNameLength)

/** A source to be made. */
export const NewSourceSchema = z.strictObject({ name: NameSchema.describe('Name for people, 1 to 200 characters') })
export type NewSource = z.infer<typeof NewSourceSchema>

/** A change of a source: what it names; the rest stays. */
export const SourcePatchSchema = z.strictObject({
  name: NameSchema.optional().describe('Another name, 1 to 200 characters'),
  enabled: z
    .boolean()
    .optional()
    .describe('Whether its events are taken; those of one that is switched off are refused'),
})
export type SourcePatch = z.infer<typeof SourcePatchSchema>

/** Longest time for which a replaced write key still counts: 30 days. */
export const maxKeyOverlapSeconds = 30 * 24 * 3600

/** Gives a source a new write key. */
export const RotateKeySchema = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(maxKeyOverlapSeconds)
    .optional()
    .describe(
      'How long the replaced key still counts, in seconds. At 0, the default, it ends at once, and so do those replaced before',
    ),
})
export type RotateKey = z.infer<typeof RotateKeySchema>

/** A source with its write key. */
export const SourceSchema = z.object({
  id: z.string().describe('Id of the source'),
  name: z.string().describe('Name for people'),
  writeKey: z.string().describe('Opens the ingest API; to viewers it is masked'),
  enabled: z.boolean().describe('Whether its events are taken'),
  createdAt: z.iso.datetime().describe('When it was made, ISO 8601'),
  previousKeyExpiresAt: z.iso
    .datetime()
    .nullable()
    .describe('When the last of the replaced write keys ends; null when none counts any more'),
  previousKeyEnds: z
    .array(
      z.object({
        keyBegins: z.string().describe('The beginning of the key; to viewers it is masked'),
        expiresAt: z.iso.datetime().describe('When the key ends, ISO 8601'),
      }),
    )
    .describe('The replaced write keys that still count, those that end first first'),
})
export type Source = z.infer<typeof SourceSchema>
