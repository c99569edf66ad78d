/** The audit log: every change through the management API. */

import { z } from 'zod'

/** Where a change stands: `unknown` while it is under way, and for good when the node died in its middle; `refused` is a
 *  sign-in with a wrong token. */
export const AuditOutcomeSchema = z.enum(['done', 'failed', 'unknown', 'refused'])
export type AuditOutcome = z.infer<typeof AuditOutcomeSchema>

/** One change, or one sign-in that was refused. */
export const AuditEntrySchema = z.object({
  id: z.string().describe('Id of the entry'),
  at: z.iso.datetime().describe('When it began, ISO 8601'),
  actor: z
    .string()
    .describe(
      "Name of the API token, or `admin` for the configured one; `postrider` for the node itself; the caller's address when a sign-in was refused",
    ),
  action: z.string().describe('What was done, as in `sources.create` or `sources.rotate-key`'),
  subject: z.string().describe('What it was done to, as in `sources/src_…`'),
  outcome: AuditOutcomeSchema.describe('Where the change stands'),
  before: z
    .unknown()
    .describe('The subject before the change, secrets masked; null when there was none, or none is read'),
  after: z.unknown().describe('What the change answered, secrets masked; null after a deletion'),
})
export type AuditEntry = z.infer<typeof AuditEntrySchema>

/** Which entries: all members that are given must fit. */
export const AuditFilterSchema = z.strictObject({
  actor: z.string().max(255).optional().describe('Who made the change, exact'),
  subject: z.string().max(400).optional().describe('Beginning of the subjects, as in `sources` or `sources/src_…`'),
  since: z.iso.datetime({ offset: true }).optional().describe('Began at or after this time, ISO 8601'),
  until: z.iso.datetime({ offset: true }).optional().describe('Began before this time, ISO 8601'),
})
export type AuditFilter = z.infer<typeof AuditFilterSchema>
