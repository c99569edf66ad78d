/** Decides whether an attempt may go now: bounds what is under way to one endpoint, to one host and in all, and keeps
 *  attempts from an endpoint that is down. It knows nothing of events, and does nothing by itself. */

import type { Admission, Asked, AttemptKind, AttemptResult, GatedEndpoint, TurnedAway } from './admission.ts'
import type { DifferingOptions } from '../schemas/endpoint-options.ts'
import type { GateBounds } from './gate-bounds.ts'
import {
  isAlone,
  isAnswering,
  isClosed,
  isHanging,
  isUnheard,
  learn,
  noteBegin,
  type Attempt,
  type KnownEndpoint,
  type Share,
} from './known-endpoint.ts'
import { rememberEndpoints, type KnownEndpoints } from './known-endpoints.ts'
import { createLines } from './lines.ts'
import { createPlaces, letsWait, type Places } from './places.ts'
import { isBounded } from './set-bounds.ts'
import { createTurningAway } from './turning-away.ts'

export interface Gate extends GateKnowledge {
  /** Asks for an attempt. The answer comes at once where there is a place, or none is to be expected soon; otherwise a first attempt
   *  waits in line for one, first come, first served; where bounds are set for the endpoint, a retry does, too. */
  admit(endpoint: GatedEndpoint, kind: AttemptKind, asked?: Asked): Admission | Promise<Admission>
  /** Turns away attempts that have no time left to wait for their place. */
  turnAway(endpoint: GatedEndpoint, kind: AttemptKind, attempts: number): TurnedAway
  /** Forgets what is known of the endpoint where that was at another address: it tells nothing of this one. An admission does so
   *  by itself. */
  forgetMoved(endpoint: GatedEndpoint): void
}

/** What a gate tells of endpoints without an attempt. */
export interface GateKnowledge {
  /** Whether a first attempt would be turned away now. */
  isShut(endpointId: string): boolean
  /** Whether attempts at the endpoint come back with answers; false where nothing is known yet. */
  isAnswering(endpointId: string): boolean
  /** Whether no attempt at the endpoint was answered yet, or lately, and those under way take longer than they should. */
  isUnheard(endpointId: string): boolean
  /** Whether no attempt at the endpoint was answered yet, or lately, in the time that an attempt has. */
  isHanging(endpointId: string): boolean
  /** When an attempt may find out whether an endpoint that is down is back, in milliseconds from now; 0 when it is not down, or
   *  a probe is due. */
  probeInMs(endpointId: string): number
  /** Since when an endpoint is down; undefined when it is not. */
  closedSince(endpointId: string): Date | undefined
  /** Whether bounds are set for an endpoint that is not down, so that one which is shut takes attempts again soon. */
  isBounded(endpointId: string): boolean
  /** Endpoints that are down, since when, and when a probe is due as `probeInMs` says. */
  down(): { endpointId: string; since: Date; probeInMs: number }[]
}

/** An endpoint as it is set up. */
type Endpoint = { id: string; url: string } & Pick<DifferingOptions, 'maxPerSecond' | 'maxConcurrent'>

/** An endpoint as the gate knows it. */
export const gatedEndpoint = ({ id, url, maxPerSecond, maxConcurrent }: Endpoint): GatedEndpoint => ({
  id,
  url,
  origin: URL.canParse(url) ? new URL(url).origin : url,
  maxPerSecond: maxPerSecond ?? undefined,
  maxConcurrent: maxConcurrent ?? undefined,
})

/** A gate that nobody has passed. */
export function createGate(bounds: GateBounds): Gate {
  const endpoints = rememberEndpoints(bounds)
  const places = createPlaces(bounds)
  const lines = createLines(places)
  const { turnAway } = createTurningAway(bounds.maxAwayMs, endpoints.countDown)

  const conclude = (endpoint: KnownEndpoint, ...told: [Attempt, AttemptResult]): void => {
    learn(endpoint, ...told, performance.now())
    endpoints.noteState(endpoint)
    if (isClosed(endpoint)) lines.dissolve(endpoint)
    lines.serve()
  }

  const enter = (endpoint: KnownEndpoint, share: Share, now: number): Admission => {
    const attempt: Attempt = { at: now, isAlone: isAlone(endpoint, now), isProbe: isClosed(endpoint) }
    if (attempt.isProbe) endpoint.breaker.beginProbe()
    share.taken.add(attempt)
    noteBegin(endpoint, now)
    const giveBack = places.take(endpoint, share)
    return {
      kind: 'go',
      leave(result) {
        if (!share.taken.delete(attempt)) return
        giveBack()
        conclude(endpoint, attempt, result)
      },
    }
  }

  const wait = (endpoint: KnownEndpoint, share: Share, attempts?: number): Promise<Admission> =>
    lines.wait(endpoint, share, (looks) => {
      const now = performance.now()
      return looks ? enter(endpoint, share, now) : turnAway(endpoint, share, now, attempts)
    })

  const decide = (endpoint: KnownEndpoint, share: Share, now: number, { isOrdered, attempts }: Asked) => {
    if (!places.hasRoom(endpoint, share, now)) return turnAway(endpoint, share, now, attempts)
    if (places.fits(endpoint, share, now, isOrdered)) return enter(endpoint, share, now)
    return letsWait(endpoint, share, now) ? wait(endpoint, share, attempts) : turnAway(endpoint, share, now, attempts)
  }

  return {
    admit(gated, kind, asked = {}) {
      const endpoint = endpoints.of(gated)
      const now = performance.now()
      const answer = decide(endpoint, endpoint[kind], now, asked)
      endpoint.seenAt = now
      return answer
    },
    turnAway(gated, kind, attempts) {
      const endpoint = endpoints.of(gated)
      return turnAway(endpoint, endpoint[kind], performance.now(), attempts)
    },
    forgetMoved: endpoints.forgetMoved,
    ...knowledgeOf(endpoints, places),
  }
}

function knowledgeOf({ find, all }: KnownEndpoints, { hasRoom, fits }: Places): GateKnowledge {
  /** Asks about one endpoint, and answers no where nothing is known of it. */
  const whether = (question: (endpoint: KnownEndpoint, now: number) => boolean) => (endpointId: string) => {
    const endpoint = find(endpointId)
    return endpoint !== undefined && question(endpoint, performance.now())
  }
  const probeInMs = (endpoint: KnownEndpoint | undefined): number => endpoint?.breaker.probeInMs(performance.now()) ?? 0

  return {
    isShut: whether((endpoint, now) => {
      const { first } = endpoint
      return !hasRoom(endpoint, first, now) || !(fits(endpoint, first, now) || letsWait(endpoint, first, now))
    }),
    isAnswering: whether((endpoint, now) => !isClosed(endpoint) && isAnswering(endpoint, now)),
    isUnheard: whether(isUnheard),
    isHanging: whether(isHanging),
    probeInMs: (endpointId) => probeInMs(find(endpointId)),
    closedSince: (endpointId) => find(endpointId)?.breaker.closedSince(),
    isBounded: whether((endpoint) => isBounded(endpoint) && !isClosed(endpoint)),
    down: () =>
      all().flatMap((endpoint) => {
        const since = endpoint.breaker.closedSince()
        return since === undefined ? [] : [{ endpointId: endpoint.id, since, probeInMs: probeInMs(endpoint) }]
      }),
  }
}
