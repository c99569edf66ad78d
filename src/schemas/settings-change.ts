/** Changes of settings that are made together, or not at all. */

import { z } from 'zod'
import { AudiencePatchSchema } from './audience.ts'

/** Kinds of settings, as a file of settings calls its lists. */
export const settingsKinds = ['sources', 'destinations', 'audiences', 'alertRules', 'alertChannels'] as const
/** One of them. */
export type SettingsKind = (typeof settingsKinds)[number]

const maxChanges = 5_000
const maxRefLength = 300

/** A change of an audience that may pause its schedule, too. */
export const PausablePatchSchema = AudiencePatchSchema.extend({
  paused: z.boolean().optional().describe('Whether its schedule is paused from now on'),
})

/** One of the changes. */
export const SettingsChangeSchema = z.strictObject({
  kind: z.enum(settingsKinds).describe('What is changed'),
  action: z.enum(['create', 'update', 'delete']).describe('How; the rules of alerts can only be updated, as a whole'),
  ref: z
    .string()
    .max(maxRefLength)
    .optional()
    .describe('What later changes call the id of what is created, at most 300 characters'),
  id: z
    .string()
    .max(maxRefLength)
    .optional()
    .describe('What is updated or deleted: an id, or the `ref` of a change before'),
  body: z
    .unknown()
    .optional()
    .describe(
      'As the `POST`, `PATCH` or `PUT` of the kind takes it; ids of sources and destinations may be refs. An update of an audience may have `paused` as well',
    ),
})
export type SettingsChange = z.infer<typeof SettingsChangeSchema>

/** A plan of changes. */
export const ApplySchema = z.strictObject({
  dryRun: z.boolean().default(false).describe('Whether all of it is only tried, and nothing is changed'),
  changes: z.array(SettingsChangeSchema).max(maxChanges).describe('Changes in their order, at most 5,000'),
})

/** What became of a plan. */
export const AppliedSchema = z.object({
  applied: z.boolean().describe('Whether the changes were made; false after a dry run'),
})
