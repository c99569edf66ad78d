/** Sources, as the management API takes and shows them. */

import { z } from 'zod'

/** Longest name, in characters. */
export const maxNameLength = 200

/** The name of a source, destination, audience or API token: 1 to `maxNameLength` characters, blanks around it cut off. */
export const NameSchema = z.string().trim().min(1).max(maxNameLength)

/** A source to be made. */
export const NewSourceSchema = z.strictObject({ name: NameSchema })
export type NewSource = z.infer<typeof NewSourceSchema>

/** A change of a source: what it names; the rest stays. */
export const SourcePatchSchema = z.strictObject({ name: NameSchema.optional(), enabled: z.boolean().optional() })
export type SourcePatch = z.infer<typeof SourcePatchSchema>

/** Longest time for which a replaced write key still counts: 30 days. */
const maxKeyOverlapSeconds = 30 * 24 * 3600

/** Gives a source a new write key. */
export const RotateKeySchema = z.strictObject({
  /** How long the replaced key still counts, in seconds. At 0, the default, it ends at once, and so do those replaced before. */
  overlapSeconds: z.int().min(0).max(maxKeyOverlapSeconds).optional(),
})
export type RotateKey = z.infer<typeof RotateKeySchema>

/** A source with its write key. */
export const SourceSchema = z.object({
  id: z.string(),
  name: z.string(),
  writeKey: z.string(),
  enabled: z.boolean(),
  createdAt: z.iso.datetime(),
  /** When the last of the replaced write keys ends; null when none counts any more. */
  previousKeyExpiresAt: z.iso.datetime().nullable(),
})
export type Source = z.infer<typeof SourceSchema>
