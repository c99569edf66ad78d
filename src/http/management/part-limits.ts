/** No call waits for a part that does not answer: while it is away, calls that need it are answered 503, which names it. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import { AppError, PartAwayError, type PartName } from '../../errors.ts'
import type { MissingPart } from '../../schemas/system.ts'

/** After how long a call that has no answer yet asks whether its parts are there, and between two such looks, in
 *  milliseconds. A part that was away a moment ago is looked for at once. */
const firstLookMs = 1_000
const nextLookMs = 2_000

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Parts that calls of this route cannot do without; the database unless given. */
    needs?: readonly PartName[]
  }
}

/** Few calls ask Temporal in any case, and some with some bodies only: those limit the very wait. */
const usualNeeds: readonly PartName[] = ['database']

/** What calls need that ask Temporal, whatever they are sent. */
export const needsTemporal = { needs: ['database', 'temporal'] } as const

/** Which parts are away. */
export interface PartsWatch {
  /** Looks now, within 2 seconds. */
  look: () => Promise<MissingPart[]>
  /** What the last look found. */
  missing: () => MissingPart[]
}

export interface PartLimits {
  /** Waits for work that needs some parts, for as long as they are there. Work that is given up goes on all the same.
   *  @throws PartAwayError when one of them is away and the work has no answer, or fails */
  whilePresent<Result>(needs: readonly PartName[], work: () => Promise<Result> | Result): Promise<Result>
  /** Does so for every route that is registered on `app` later. */
  guardRoutes(app: FastifyInstance): void
}

/** @param watch  tells of the parts that can be away at all: the embedded database is only ever busy */
export function createPartLimits(watch: PartsWatch): PartLimits {
  const errorOf = (missing: MissingPart[], needs: readonly PartName[]): PartAwayError | undefined => {
    const away = missing.find(({ part }) => needs.includes(part))
    return away && new PartAwayError(away.part, away.reason)
  }

  /** Never resolves: it ends with its signal, or when a part is away. */
  const untilAway = async (needs: readonly PartName[], signal: AbortSignal): Promise<never> => {
    if (errorOf(watch.missing(), needs) === undefined) await sleep(firstLookMs, undefined, { signal })
    for (;;) {
      const error = errorOf(await watch.look(), needs)
      signal.throwIfAborted()
      if (error !== undefined) throw error
      await sleep(nextLookMs, undefined, { signal })
    }
  }

  const whilePresent: PartLimits['whilePresent'] = async (needs, work) => {
    const done = new AbortController()
    try {
      return await Promise.race([work(), untilAway(needs, done.signal)])
    } catch (error) {
      if (error instanceof AppError) throw error
      // What fails because a part is away has as many names as there are libraries.
      throw errorOf(await watch.look(), needs) ?? error
    } finally {
      done.abort()
    }
  }

  return {
    whilePresent,
    guardRoutes(app) {
      app.addHook('onRoute', (route) => {
        const handler = route.handler as (...args: Parameters<RouteHandlerMethod>) => unknown
        const needs = route.config?.needs ?? usualNeeds
        if (needs.length === 0) return
        route.handler = function (request, reply) {
          return whilePresent(needs, () => handler.call(this, request, reply))
        }
      })
    },
  }
}
