/** Who may use the management API: roles, API tokens, sessions. */

import { z } from 'zod'
import { NameSchema } from './source.ts'

/** `admin` may do everything; `viewer` reads everything but secrets and changes nothing. */
export const roles = ['admin', 'viewer'] as const
/** A role, as the API has it: one of `roles`. */
export const RoleSchema = z.enum(roles)
export type Role = z.infer<typeof RoleSchema>

/** Longest token that is looked at, in characters. */
export const maxTokenLength = 1_024

/** Trades the admin token, or an API token, for a session. */
export const SignInSchema = z.strictObject({
  token: z.string().min(1).max(maxTokenLength).describe('The admin token or an API token, at most 1,024 characters'),
})

/** Who the caller is. */
export const SessionSchema = z.object({
  role: RoleSchema.describe('What the caller may do'),
  expiresAt: z.iso
    .datetime()
    .nullable()
    .describe('When the session ends by itself, ISO 8601; null for a request with a bearer token, which has none'),
})
export type Session = z.infer<typeof SessionSchema>

/** A token to be made; `admin`, in whatever case, would pass for the configured one in the audit log. */
export const NewApiTokenSchema = z.strictObject({
  name: NameSchema.refine(
    (name) => name.toLowerCase() !== 'admin',
    'admin is the name of the configured token: choose another one',
  ).describe('1 to 200 characters, not `admin`; each change in the audit log tells it'),
  role: RoleSchema.describe('What the token may do'),
})
export type NewApiToken = z.infer<typeof NewApiTokenSchema>

/** A token without its secret. */
export const ApiTokenSchema = z.object({
  id: z.string().describe('Id of the token; it does not open anything'),
  name: z.string().describe('Name of the token, 1 to 200 characters'),
  role: RoleSchema.describe('What the token may do'),
  createdAt: z.iso.datetime().describe('When it was made, ISO 8601'),
  lastUsedAt: z.iso.datetime().nullable().describe('Exact to a minute; null before the first use'),
})
export type ApiToken = z.infer<typeof ApiTokenSchema>

/** A token that was just made. */
export const CreatedApiTokenSchema = ApiTokenSchema.extend({
  token: z.string().describe('Shown in this answer and never again'),
})
export type CreatedApiToken = z.infer<typeof CreatedApiTokenSchema>
