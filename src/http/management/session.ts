import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { SessionSchema, SignInSchema, type Session } from '../../schemas/access.ts'
import type { Actor, Gate } from './authenticate.ts'
import { DoneSchema, errorResponses, security } from './schemas.ts'

const tags = ['session']

/** Largest body of a sign-in, in bytes: anybody may send one. */
const maxSignInBytes = 16 * 1024

/** Signing in and out of the web app. */
export const sessionRoutes: FastifyPluginAsyncZod<{ gate: Gate }> = async (app, { gate }) => {
  app.post(
    '/session',
    {
      config: { access: 'public' },
      bodyLimit: maxSignInBytes,
      schema: {
        tags,
        summary: 'Begin a session: sets the cookie postrider_session',
        body: SignInSchema,
        response: { 200: SessionSchema, ...errorResponses },
      },
    },
    async (request, reply) => toSession(await gate.signIn(request.body.token, request, reply)),
  )

  app.get(
    '/session',
    { schema: { tags, security, summary: 'Who calls', response: { 200: SessionSchema, ...errorResponses } } },
    async ({ actor }) => toSession(actor),
  )

  app.delete(
    '/session',
    {
      // Signing out is for every role.
      config: { access: 'read', audit: false },
      schema: { tags, security, summary: 'End the session', response: { 200: DoneSchema, ...errorResponses } },
    },
    async (request, reply) => {
      gate.signOut(request, reply)
      return { success: true as const }
    },
  )
}

const toSession = (actor: Actor | null): Session => ({
  role: actor?.role ?? 'viewer',
  expiresAt: actor?.expiresAt?.toISOString() ?? null,
})
