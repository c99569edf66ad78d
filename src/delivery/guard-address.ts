/** Which addresses deliveries may go to: public ones, and the networks that the operator allows. */

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Why a URL or an address is refused. */
export interface Refusal {
  code: 'invalid_url' | 'forbidden_address'
  /** A sentence that says what is wrong and how to mend it. */
  reason: string
}

export interface AddressGuard {
  /** What is wrong with an IP address (canonical text, without brackets); undefined when deliveries may go there. */
  refuseAddress(address: string): Refusal | undefined
  /** What is wrong with an endpoint's URL as far as it can be known without asking DNS: its form, an address written
   *  in it (in any spelling that URLs have for one), a localhost name. Names are judged when they are resolved. */
  refuseUrl(url: string): Refusal | undefined
}

type IPAddress = ReturnType<typeof ipaddr.parse>

/** IPv6 addresses that are in use on the internet; all others, such as the IPv4-compatible ::/96, are not public.
 *  @see IANA IPv6 Global Unicast Address Assignments */
const globalUnicast = ipaddr.parseCIDR('2000::/3')

/** The one metadata and platform address that is in a public range: Azure's. */
const platformAddress = '168.63.129.16'

const kinds: Readonly<Record<string, string>> = {
  loopback: 'a loopback address',
  private: 'a private address',
  uniqueLocal: 'a private address',
  linkLocal: 'a link-local address',
  carrierGradeNat: 'an address behind carrier-grade NAT',
  multicast: 'a multicast address',
  broadcast: 'a broadcast address',
  unspecified: 'an unspecified address',
  ipv4Mapped: 'an IPv4 address inside IPv6',
  rfc6145: 'an IPv4 address inside IPv6',
  rfc6052: 'an IPv4 address inside IPv6',
  '6to4': 'an IPv4 address inside IPv6',
  teredo: 'an IPv4 address inside IPv6',
}

/** Judges addresses and URLs.
 *  @param allowedNetworks  CIDRs that deliveries may reach although they are not public. An IPv4 network does not
 *    cover the same addresses written inside IPv6
 *  @throws Error when one of them is not a CIDR */
export const createAddressGuard = (allowedNetworks: readonly string[]): AddressGuard => {
  const allowed = allowedNetworks.map((network) => ipaddr.parseCIDR(network))

  const refuseAddress = (text: string): Refusal | undefined => {
    if (!ipaddr.isValid(text)) return forbidden(`${text} is not an IP address.`)
    const address = ipaddr.parse(text)
    if (ipaddr.subnetMatch(address, { allowed }, 'none') === 'allowed') return undefined
    const kind = kindOf(address)
    return kind === undefined ? undefined : forbidden(`${text} is ${kind}, where deliveries may not go. ${remedy}`)
  }

  const refuseHost = (host: string): Refusal | undefined => {
    const literal = host.replace(/^\[(.*)\]$/, '$1')
    if (isIP(literal) !== 0) return refuseAddress(literal)
    if (!isLocalhost(host) || ['127.0.0.1', '::1'].some((address) => refuseAddress(address) === undefined))
      return undefined
    return forbidden(`${host} is this machine, where deliveries may not go. ${remedy}`)
  }

  return {
    refuseAddress,
    refuseUrl(text) {
      if (!URL.canParse(text)) return invalid('The URL cannot be read: enter a full http or https URL.')
      const url = new URL(text)
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        return invalid('The URL must begin with http:// or https://.')
      }
      if (url.username !== '' || url.password !== '') {
        return invalid('The URL has a user name or password in it: send them in an Authorization header instead.')
      }
      return refuseHost(url.hostname)
    },
  }
}

const remedy = 'The operator can allow its network in POSTRIDER_ALLOWED_NETWORKS.'

/** The kind of a special address; undefined for a public one. */
const kindOf = (address: IPAddress): string | undefined => {
  if (address.toString() === platformAddress) return 'a metadata address'
  const range = address.range()
  if (range !== 'unicast') return kinds[range] ?? 'a reserved address'
  return address.kind() === 'ipv6' && !address.match(globalUnicast) ? 'a reserved address' : undefined
}

/** @see RFC 6761, section 6.3 */
const isLocalhost = (host: string): boolean => /(^|\.)localhost\.?$/.test(host)

const forbidden = (reason: string): Refusal => ({ code: 'forbidden_address', reason })
const invalid = (reason: string): Refusal => ({ code: 'invalid_url', reason })
