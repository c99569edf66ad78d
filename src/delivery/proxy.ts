/** The outbound proxies that the environment names. */

import { StartError } from '../errors.ts'

/** Proxies for outbound requests, as HTTP_PROXY, HTTPS_PROXY and NO_PROXY have them. A proxy resolves names itself, so
 *  what they resolve to is not checked; addresses and localhost written in a URL are. The proxy's own address is
 *  the operator's choice and not checked either. */
export interface ProxySettings {
  /** The proxy for plain http, as a URL with its scheme. */
  httpProxy?: string | undefined
  /** The proxy for https, likewise. */
  httpsProxy?: string | undefined
  /** Hosts that are reached without a proxy, as the variable has them. */
  noProxy?: string | undefined
}

/** Reads the proxies; a name in capitals counts before the one in small letters. An address without a scheme is one of http, as curl
 *  has it.
 *  @throws StartError that names the variable whose value is no address of a proxy */
export const proxySettings = (env: NodeJS.ProcessEnv): ProxySettings => ({
  httpProxy: readProxy(env, ['HTTP_PROXY', 'http_proxy']),
  httpsProxy: readProxy(env, ['HTTPS_PROXY', 'https_proxy']),
  noProxy: env['NO_PROXY'] ?? env['no_proxy'],
})

function readProxy(env: NodeJS.ProcessEnv, names: readonly string[]): string | undefined {
  const name = names.find((candidate) => env[candidate] !== undefined)
  const text = name === undefined ? '' : (env[name] ?? '').trim()
  if (text === '') return undefined
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`
  // The value may hold a password and is not repeated.
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new StartError(`${name} must be the address of a proxy: host:port, or an http or https URL`)
  return url
}
