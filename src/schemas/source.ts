/** Sources, as the management API takes and shows them. */

import { z } from 'zod'

/** Longest name of a source, destination or audience, in characters. */
export const maxNameLength = 200

export const NameSchema = z.string().trim().min(1).max(maxNameLength)

export const NewSourceSchema = z.strictObject({ name: NameSchema })
export type NewSource = z.infer<typeof NewSourceSchema>

export const SourcePatchSchema = z.strictObject({ name: NameSchema.optional(), enabled: z.boolean().optional() })
export type SourcePatch = z.infer<typeof SourcePatchSchema>

export const SourceSchema = z.object({
  id: z.string(),
  name: z.string(),
  writeKey: z.string(),
  enabled: z.boolean(),
  createdAt: z.iso.datetime(),
})
export type Source = z.infer<typeof SourceSchema>
