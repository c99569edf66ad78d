/** A bound on wrong tries per address. */

import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** Addresses remembered; beyond them the one that tried longest ago is forgotten. */
const maxAddresses = 10_000

export interface ThrottleOptions {
  maxTries: number
  windowMs: number
}

export interface Throttle {
  /** Seconds that this address has to wait; 0 when it may try. */
  waitSeconds(address: string): number
  /** Notes a wrong try.
   *  @param guess  when given, the same guess counts once: a program with a stale token is not a guesser */
  failed(address: string, guess?: string): void
}

/** After `maxTries` wrong tries within `windowMs` of the first of them an address has to wait for the window's end. */
export function createThrottle({ maxTries, windowMs }: ThrottleOptions): Throttle {
  const windows = new LRUCache<string, { tries: number; guesses: Set<string> }>({ max: maxAddresses, ttl: windowMs })
  return {
    waitSeconds(address) {
      const key = networkOf(address)
      const window = windows.get(key)
      if (window === undefined || window.tries < maxTries) return 0
      return Math.max(1, Math.ceil(windows.getRemainingTTL(key) / 1_000))
    },
    failed(address, guess) {
      const key = networkOf(address)
      const window = windows.get(key) ?? { tries: 0, guesses: new Set() }
      if (guess !== undefined && window.guesses.has(guess)) return
      if (guess !== undefined) window.guesses.add(guess)
      window.tries++
      if (window.tries === 1) windows.set(key, window)
    },
  }
}

/** One user of IPv6 has 2^64 addresses: they count as one. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, 8).join('.') : parsed.toString()
}
