/** The endpoints that a gate remembers. */

import { LRUCache } from 'lru-cache'
import type { GatedEndpoint } from './admission.ts'
import type { GateBounds } from './gate-bounds.ts'
import { isClosed, newEndpoint, type KnownEndpoint } from './known-endpoint.ts'

/** Endpoints of which something is remembered; a few hundred bytes each. */
const maxRemembered = 5_000

export interface KnownEndpoints {
  /** What is known of the endpoint, as far as it is still at that address. */
  of: (gated: GatedEndpoint) => KnownEndpoint
  /** The same, undefined for one of which nothing is known. */
  find: (id: string) => KnownEndpoint | undefined
  /** Forgets what is known of the endpoint where that was at another address: it tells nothing of this one. */
  forgetMoved: (gated: GatedEndpoint) => void
  all: () => KnownEndpoint[]
  /** Takes note whether the endpoint is down now. */
  noteState: (endpoint: KnownEndpoint) => void
  /** How many are down. */
  countDown: () => number
}

export function rememberEndpoints(bounds: GateBounds): KnownEndpoints {
  const down = new Set<string>()
  const endpoints = new LRUCache<string, KnownEndpoint>({ max: maxRemembered, dispose: (_, id) => down.delete(id) })
  const forgetMoved = ({ id, url }: GatedEndpoint): void => {
    const known = endpoints.peek(id)
    if (known !== undefined && known.url !== url) endpoints.delete(id)
  }

  return {
    of(gated) {
      forgetMoved(gated)
      const known = endpoints.get(gated.id)
      if (known !== undefined) {
        const { maxPerSecond, maxConcurrent } = gated
        return Object.assign(known, { maxPerSecond, maxConcurrent })
      }
      const endpoint = newEndpoint(gated, bounds)
      endpoints.set(gated.id, endpoint)
      return endpoint
    },
    find: (id) => endpoints.peek(id),
    forgetMoved,
    all: () => [...endpoints.values()],
    noteState(endpoint) {
      if (endpoints.peek(endpoint.id) !== endpoint) return
      if (isClosed(endpoint)) down.add(endpoint.id)
      else down.delete(endpoint.id)
    },
    countDown: () => down.size,
  }
}
