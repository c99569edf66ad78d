/** The audit log: every change through the management API. */

import { z } from 'zod'

/** Where a change stands: `unknown` while it is under way, and for good when the node died in its middle; `refused` is a
 *  sign-in with a wrong token. */
export const AuditOutcomeSchema = z.enum(['done', 'failed', 'unknown', 'refused'])
export type AuditOutcome = z.infer<typeof AuditOutcomeSchema>

/** One change, or one sign-in that was refused. */
export const AuditEntrySchema = z.object({
  id: z.string(),
  /** When it began, ISO 8601. */
  at: z.iso.datetime(),
  /** Name of the API token, or `admin` for the configured one; the caller's address when a sign-in was refused. */
  actor: z.string(),
  /** What was done, as in `sources.create` or `sources.rotate-key`. */
  action: z.string(),
  /** What it was done to, as in `sources/src_…`. */
  subject: z.string(),
  outcome: AuditOutcomeSchema,
  /** The subject before the change, secrets masked; null when there was none, or none is read. */
  before: z.unknown(),
  /** What the change answered, secrets masked; null after a deletion. */
  after: z.unknown(),
})
export type AuditEntry = z.infer<typeof AuditEntrySchema>

/** Which entries: all members that are given must fit. */
export const AuditFilterSchema = z.strictObject({
  /** Who made the change, exact. */
  actor: z.string().max(255).optional(),
  /** Beginning of the subjects, as in `sources` or `sources/src_…`. */
  subject: z.string().max(400).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
  until: z.iso.datetime({ offset: true }).optional(),
})
export type AuditFilter = z.infer<typeof AuditFilterSchema>
