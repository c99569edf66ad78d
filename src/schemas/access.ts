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
export const SignInSchema = z.strictObject({ token: z.string().min(1).max(maxTokenLength) })

/** Who the caller is. */
export const SessionSchema = z.object({
  role: RoleSchema,
  /** When the session ends by itself, ISO 8601; null for a request with a bearer token, which has none. */
  expiresAt: z.iso.datetime().nullable(),
})
export type Session = z.infer<typeof SessionSchema>

/** A token to be made; `admin`, in whatever case, would pass for the configured one in the audit log. */
export const NewApiTokenSchema = z.strictObject({
  name: NameSchema.refine((name) => name.toLowerCase() !== 'admin', 'admin is the name of the configured token'),
  role: RoleSchema,
})
export type NewApiToken = z.infer<typeof NewApiTokenSchema>

/** A token without its secret. */
export const ApiTokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  role: RoleSchema,
  createdAt: z.iso.datetime(),
  /** Exact to a minute; null before the first use. */
  lastUsedAt: z.iso.datetime().nullable(),
})
export type ApiToken = z.infer<typeof ApiTokenSchema>

/** A token that was just made. */
export const CreatedApiTokenSchema = ApiTokenSchema.extend({
  /** Shown in this answer and never again. */
  token: z.string(),
})
export type CreatedApiToken = z.infer<typeof CreatedApiTokenSchema>
