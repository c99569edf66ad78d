/** What deleted things were called, as the management API tells it. */

import { z } from 'zod'

/** What a source, destination or audience was called that is deleted. */
export const DeletedNameSchema = z.object({
  id: z.string().describe('Id of the source, destination or audience'),
  name: z.string().describe('Its name when it was deleted'),
  deletedAt: z.iso.datetime().describe('When it was deleted, ISO 8601'),
})
export type DeletedName = z.infer<typeof DeletedNameSchema>

/** Most ids that are asked for at once. */
export const maxDeletedIds = 100

/** Which of them: by their ids. */
export const DeletedNameFilterSchema = z.strictObject({
  ids: z
    .string()
    .max(5_000)
    .transform((text) => text.split(','))
    .pipe(z.array(z.string().max(255)).max(maxDeletedIds))
    .describe(`Ids, separated by commas; at most ${maxDeletedIds}`),
})
