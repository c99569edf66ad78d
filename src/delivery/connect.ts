/** How connections are opened: only to addresses that the guard lets through, and only to trusted TLS servers. */

import dns from 'node:dns'
import type { LookupAddress, LookupOptions } from 'node:dns'
import { buildConnector } from 'undici'
import type { AddressGuard } from './guard-address.ts'

/** Resolves a name to all its addresses; `dns.lookup` is one. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** A name has no address that deliveries may go to. */
export class ForbiddenAddressError extends Error {
  override name = 'ForbiddenAddressError'
}

type LookupHook = (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void

/** Time for connecting beyond the attempt's own limit, in milliseconds: this limit never ends an attempt, it only closes sockets
 *  that one left behind. */
const connectGraceMs = 1000

/** Connectors for undici. Names are resolved once and the guarded addresses are the ones connected to, so that a
 *  second answer of the name server changes nothing. Literal addresses are not resolved: check those before.
 *  TLS is 1.2 or newer, and certificates are checked whatever the environment says.
 *  @returns the one for attempts that wait so long at most, in milliseconds */
export function createConnect(options: {
  guard: AddressGuard
  lookup?: Lookup | undefined
}): (timeoutMs: number) => buildConnector.connector {
  const lookup = guardedLookup(options.guard, options.lookup)
  const known = new Map<number, buildConnector.connector>()
  return (timeoutMs) => {
    const timeout = timeoutMs + connectGraceMs
    const connect =
      known.get(timeoutMs) ?? buildConnector({ lookup, rejectUnauthorized: true, minVersion: 'TLSv1.2', timeout })
    known.set(timeoutMs, connect)
    return connect
  }
}

/** Resolves names for a socket, and answers with those of their addresses alone that the guard lets through. */
export function guardedLookup(guard: AddressGuard, resolve: Lookup = dns.lookup): LookupHook {
  const lookup = shareLookups(resolve)
  return (hostname, options, callback) => {
    const answer = (addresses: LookupAddress[]): void => {
      const refusals = addresses.map(({ address }) => guard.refuseAddress(address))
      const allowed = addresses.filter((_, index) => refusals[index] === undefined)
      const [first] = allowed
      const refusal = refusals.find((found) => found !== undefined)
      if (first === undefined) {
        callback(
          new ForbiddenAddressError(`${hostname} has no address to deliver to: ${refusal?.reason ?? 'none found.'}`),
          '',
        )
      } else if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    }
    lookup(hostname).then(answer, (error: NodeJS.ErrnoException) => callback(error, ''))
  }
}

/** Requests for a name that is being resolved wait for that answer. The system resolver blocks one of few threads for
 *  as long as a name server is silent: attempts to one such name must not take them all. */
const shareLookups = (lookup: Lookup): ((hostname: string) => Promise<LookupAddress[]>) => {
  const running = new Map<string, Promise<LookupAddress[]>>()
  const start = (hostname: string): Promise<LookupAddress[]> =>
    new Promise((resolve, reject) => {
      lookup(hostname, { all: true }, (error, addresses) => {
        if (error) reject(error)
        else resolve(addresses)
      })
    })
  return (hostname) => {
    const known = running.get(hostname)
    if (known) return known
    const started = start(hostname).finally(() => running.delete(hostname))
    running.set(hostname, started)
    return started
  }
}
