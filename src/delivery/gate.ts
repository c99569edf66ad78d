/** Decides whether an attempt may go now: bounds what is under way to one endpoint, to one host and in all, and keeps
 *  attempts from an endpoint that is down. It knows nothing of events, and does nothing by itself. */

import type { Admission, AttemptKind, AttemptResult, GatedEndpoint } from './admission.ts'
import type { GateBounds } from './gate-bounds.ts'
import {
  isAlone,
  isAnswering,
  isClosed,
  isHanging,
  isUnheard,
  learn,
  type Attempt,
  type KnownEndpoint,
  type Share,
} from './known-endpoint.ts'
import { rememberEndpoints, type KnownEndpoints } from './known-endpoints.ts'
import { createLines } from './lines.ts'
import { createPlaces, letsWait, type Places } from './places.ts'
import { createTurningAway } from './turning-away.ts'

export interface Gate extends GateKnowledge {
  /** Asks for an attempt. The answer comes at once where there is a place, or none is to be expected soon; otherwise a first attempt
   *  waits in line for one, first come, first served.
   *  @param isOrdered  whether an operator ordered the attempt: an endpoint that is down gets it although no probe is due */
  admit(endpoint: GatedEndpoint, kind: AttemptKind, isOrdered?: boolean): Admission | Promise<Admission>
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
  /** Endpoints that are down, since when, and when a probe is due as `probeInMs` says. */
  down(): { endpointId: string; since: Date; probeInMs: number }[]
}

/** An endpoint as the gate knows it. */
export const gatedEndpoint = ({ id, url }: { id: string; url: string }): GatedEndpoint => ({
  id,
  url,
  origin: URL.canParse(url) ? new URL(url).origin : url,
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

  const wait = (endpoint: KnownEndpoint, share: Share): Promise<Admission> =>
    lines.wait(endpoint, share, (looks) => (looks ? enter : turnAway)(endpoint, share, performance.now()))

  const decide = (endpoint: KnownEndpoint, share: Share, now: number, isOrdered: boolean) => {
    if (!places.hasRoom(endpoint, share, now)) return turnAway(endpoint, share, now)
    if (places.fits(endpoint, share, now, isOrdered)) return enter(endpoint, share, now)
    return letsWait(endpoint, share, now) ? wait(endpoint, share) : turnAway(endpoint, share, now)
  }

  return {
    admit(gated, kind, isOrdered = false) {
      const endpoint = endpoints.of(gated)
      const now = performance.now()
      const answer = decide(endpoint, endpoint[kind], now, isOrdered)
      endpoint.seenAt = now
      return answer
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
    down: () =>
      all().flatMap((endpoint) => {
        const since = endpoint.breaker.closedSince()
        return since === undefined ? [] : [{ endpointId: endpoint.id, since, probeInMs: probeInMs(endpoint) }]
      }),
  }
}
