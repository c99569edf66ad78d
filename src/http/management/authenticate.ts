/** Who calls the management API, and whether they may: one hook for all of its routes. */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readClaims, sessionMs, writeClaims } from '../../access/session.ts'
import type { TokenStore } from '../../db/tokens.ts'
import { AppError } from '../../errors.ts'
import { maxTokenLength, type Role } from '../../schemas/access.ts'
import { checkOrigin, clearSessionCookie, sessionCookie, setSessionCookie } from './session-cookie.ts'
import type { WrongTries } from './wrong-tries.ts'

/** What a route needs: `public` no one's name, `read` any role, `write` the role `admin`, and so does `secrets`, whose answers have what
 *  is masked for other roles elsewhere. */
export type Access = 'public' | 'read' | 'write' | 'secrets'

/** What a role that is no `admin` may not do. */
const refusals: Record<Exclude<Access, 'public' | 'read'>, string> = {
  write: 'may read but change nothing',
  secrets: 'may not see payloads of Temporal, which hold signatures and addresses in full',
}

/** Who calls. */
export interface Actor {
  /** Name of the API token, or `admin` for the configured one. */
  name: string
  role: Role
  /** Null: the configured admin token. */
  tokenId: string | null
  /** When the session ends by itself; null for a bearer token. */
  expiresAt: Date | null
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Unless given: `read` for GET and HEAD, `write` for all other methods. */
    access?: Access
    /** Origins of other pages that may call this route with a session cookie, and need no header of their own for it. */
    otherOrigins?: () => string[]
  }
  interface FastifyRequest {
    /** Set on all routes of the management API that are not `public`. */
    actor: Actor | null
  }
}

export interface Gate {
  /** Lets a request through that may do what its route does, and sets its `actor`.
   *  @throws AppError unauthorized, forbidden, too_many_requests (as the request's error) */
  admit(request: FastifyRequest): Promise<void>
  /** Begins a session.
   *  @throws AppError unauthorized when the token is wrong, too_many_requests after too many of these */
  signIn(token: string, request: FastifyRequest, reply: FastifyReply): Promise<Actor>
  signOut(request: FastifyRequest, reply: FastifyReply): void
}

export function createGate(adminToken: string, tokens: TokenStore, wrongTries: WrongTries): Gate {
  const adminHash = sha256(adminToken)

  /** Hashes are compared, so that neither the admin token's length nor a common beginning shows in the time it takes. */
  const identify = async (token: string): Promise<Actor | undefined> => {
    if (token.length > maxTokenLength) return undefined
    if (timingSafeEqual(sha256(token), adminHash)) return adminActor(null)
    const found = await tokens.findByToken(token)
    return found && { name: found.name, role: found.role, tokenId: found.id, expiresAt: null }
  }

  const fromBearer = async (token: string, request: FastifyRequest): Promise<Actor> => {
    const actor = await identify(token)
    if (actor !== undefined) return actor
    throw await wrongTries.ofBearer(request, sha256(token).toString('base64'))
  }

  const fromSession = async (request: FastifyRequest): Promise<Actor | undefined> => {
    const cookie = sessionCookie(request)
    const claims = cookie === undefined ? undefined : readClaims(cookie, Date.now())
    if (claims === undefined) return undefined
    const expiresAt = new Date(claims.expiresAt)
    if (claims.tokenId === null) return adminActor(expiresAt)
    const token = await tokens.findById(claims.tokenId)
    return token && { name: token.name, role: token.role, tokenId: token.id, expiresAt }
  }

  return {
    async admit(request) {
      const access = accessOf(request)
      if (access === 'public') return
      const token = bearerToken(request)
      const actor = token === undefined ? await fromSession(request) : await fromBearer(token, request)
      if (actor === undefined)
        throw new AppError('unauthorized', 'sign in, or send a token: Authorization: Bearer <token>')
      if (token === undefined && !isSafe(request) && !comesFromKnownPage(request)) checkOrigin(request)
      if (access !== 'read' && actor.role !== 'admin')
        throw new AppError(
          'forbidden',
          `The role ${actor.role} ${refusals[access]}: ask an administrator, or use an admin token.`,
        )
      request.actor = actor
    },

    async signIn(token, request, reply) {
      checkOrigin(request, { needsHeader: false })
      const actor = await identify(token)
      if (actor === undefined) throw await wrongTries.ofSignIn(request)
      const expiresAt = new Date(Date.now() + sessionMs)
      setSessionCookie(
        request,
        reply,
        writeClaims({ tokenId: actor.tokenId, expiresAt: expiresAt.getTime() }),
        expiresAt,
      )
      return { ...actor, expiresAt }
    },

    signOut: clearSessionCookie,
  }
}

const adminActor = (expiresAt: Date | null): Actor => ({ name: 'admin', role: 'admin', tokenId: null, expiresAt })

const isSafe = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

/** What the request's route needs. */
export const accessOf = (request: FastifyRequest): Access =>
  request.routeOptions.config.access ?? (isSafe(request) ? 'read' : 'write')

const comesFromKnownPage = ({ headers, routeOptions }: FastifyRequest): boolean =>
  headers.origin !== undefined && routeOptions.config.otherOrigins?.().includes(headers.origin) === true

const bearerToken = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
