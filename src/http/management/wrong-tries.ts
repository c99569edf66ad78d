/** Counts wrong tokens per address and answers beyond a bound that it has to wait. The right one is never counted nor made
 *  to wait: an address may be that of a proxy, and so everybody's. */

import { normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { AppError } from '../../errors.ts'

/** Wrong tries of one address in a window: at sign-in, and different wrong bearer tokens. */
const maxSignInTries = 10
const maxBearerTries = 20
const windowMs = 60_000

/** Wrong bearer tokens that are remembered. */
const maxKnownGuesses = 10_000

/** Refused sign-ins that are logged in a window, whatever the number of addresses that they come from. */
const maxTold = 20

export interface RefusedSignIns {
  /** The first wrong try of an address within a minute, and the one at which it has to wait. */
  refusedSignIn: (address: string, tries: number) => void
}

export interface WrongTries {
  /** The answer to a wrong token at sign-in. */
  ofSignIn(request: FastifyRequest): Promise<AppError>
  /** The answer to a wrong bearer token. The same one counts once: a program with a stale token is not a guesser.
   *  @param guess  the token's hash */
  ofBearer(request: FastifyRequest, guess: string): Promise<AppError>
}

/** @param app  with `@fastify/rate-limit` registered */
export function countWrongTries(app: FastifyInstance, { refusedSignIn }: RefusedSignIns): WrongTries {
  const signIns = oneAtATime(app.createRateLimit({ max: maxSignInTries, timeWindow: windowMs }))
  const bearers = oneAtATime(app.createRateLimit({ max: maxBearerTries, timeWindow: windowMs }))
  const told = oneAtATime(app.createRateLimit({ max: maxTold, timeWindow: windowMs, keyGenerator: () => 'all' }))
  const knownGuesses = new LRUCache<string, true>({ max: maxKnownGuesses, ttl: windowMs })

  return {
    async ofSignIn(request) {
      const state = await signIns(request)
      if (state.isAllowed) return wrongToken('token')
      const tries = state.max - state.remaining
      const isWorthTelling = !state.isExceeded && (tries === 1 || tries === state.max)
      if (isWorthTelling && !isOver(await told(request))) refusedSignIn(request.ip, tries)
      return isOver(state) ? mustWait(state.ttlInSeconds) : wrongToken('token')
    },
    async ofBearer(request, guess) {
      const key = `${normalizeIP(request.ip)} ${guess}`
      const isNew = !knownGuesses.has(key)
      if (isNew) knownGuesses.set(key, true)
      const state = await bearers(request, { increment: isNew })
      return isOver(state) ? mustWait(state.ttlInSeconds) : wrongToken()
    },
  }
}

type Limit = ReturnType<FastifyInstance['createRateLimit']>
type LimitState = Awaited<ReturnType<Limit>>

/** The library counts at once and reads the count a moment later: of those that come at the same moment, each would be given
 *  the count of the last, as if all had come too late. */
function oneAtATime(limit: Limit): Limit {
  let before: Promise<unknown> = Promise.resolve()
  return (...call) => {
    const state = before.then(() => limit(...call))
    before = state.catch(() => undefined)
    return state
  }
}

const isOver = (state: LimitState): state is Exclude<LimitState, { isAllowed: true }> =>
  !state.isAllowed && state.isExceeded

const wrongToken = (path?: string): AppError =>
  new AppError(
    'unauthorized',
    'The token is not known: use the admin token, or an API token that has not been revoked.',
    path === undefined ? {} : { path },
  )

const mustWait = (seconds: number): AppError =>
  new AppError('too_many_requests', 'too many wrong tokens came from this address: only the right one is taken now', {
    retryAfterSeconds: Math.max(1, seconds),
  })
