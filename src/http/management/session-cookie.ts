/** The cookie of a session, and the proof that a request with it was made by the web app itself. */

import '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'

const cookieName = 'postrider_session'

/** A header that other sites' pages cannot send without being asked by the browser whether they may. */
const csrfHeader = 'x-postrider-csrf'

/** What the session cookie says; undefined when there is none, or its signature is wrong. */
export function sessionCookie(request: FastifyRequest): string | undefined {
  const cookie = request.cookies[cookieName]
  if (cookie === undefined) return undefined
  const { valid, value } = request.unsignCookie(cookie)
  return valid ? value : undefined
}

export function setSessionCookie(request: FastifyRequest, reply: FastifyReply, value: string, expires: Date): void {
  void reply.setCookie(cookieName, value, { ...attributes(request), expires, signed: true })
}

export function clearSessionCookie(request: FastifyRequest, reply: FastifyReply): void {
  void reply.clearCookie(cookieName, attributes(request))
}

const attributes = (request: FastifyRequest) =>
  ({ path: '/', httpOnly: true, sameSite: 'strict', secure: cameOverHttps(request) }) as const

/** A proxy in front says so in a header; whoever forges that only makes their own cookie stricter. */
const cameOverHttps = ({ protocol, headers }: FastifyRequest): boolean =>
  protocol === 'https' || firstOf(headers['x-forwarded-proto'])?.toLowerCase() === 'https'

/** Lets a request through that comes from a page of this very host.
 *  @throws AppError forbidden */
export function checkOrigin(request: FastifyRequest, { needsHeader = true } = {}): void {
  if (needsHeader && request.headers[csrfHeader] !== '1')
    throw new AppError('forbidden', `a request with a session cookie must carry the header ${csrfHeader}: 1`)
  const { origin } = request.headers
  if (origin === undefined) return
  // A proxy may change Host; a page of another site can set neither header.
  const hosts = [request.host, firstOf(request.headers['x-forwarded-host'])]
  const host = URL.canParse(origin) ? new URL(origin).host : undefined
  if (host === undefined || !hosts.includes(host))
    throw new AppError(
      'forbidden',
      'the request comes from a page of another site: open the web app at the address that its node is reached at',
    )
}

const firstOf = (header: string | string[] | undefined): string | undefined =>
  [header].flat()[0]?.split(',', 1)[0]?.trim()
