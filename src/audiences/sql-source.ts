/** The connection string of a SQL pull, read strictly: it may name a server, and no file of this machine. */

import { isIP } from 'node:net'

/** How the connection is protected:
 *  - `verify-full` encrypts, and checks that a trusted authority vouches for the server under this host name
 *  - `no-verify` encrypts, whoever answers
 *  - `disable` sends all as plain text, the rows too */
type TlsMode = 'verify-full' | 'no-verify' | 'disable'

export interface SqlSource {
  host: string
  port: number
  user: string
  password: string
  database: string
  tls: TlsMode
}

const defaultPort = 5_432

/** `sslmode` as PostgreSQL's own clients have it, read no weaker than its name promises: `require` does not check the server
 *  there. Those that go on without encryption when the server offers none are not taken. */
const tlsModes: Record<string, TlsMode> = {
  'verify-full': 'verify-full',
  'verify-ca': 'verify-full',
  require: 'verify-full',
  'no-verify': 'no-verify',
  disable: 'disable',
}

/** @throws Error with what is wrong, without the string itself */
export function parseSqlSource(connectionString: string): SqlSource {
  if (!URL.canParse(connectionString)) throw new Error('is not a postgres:// URL')
  const url = new URL(connectionString)
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') throw new Error('is not a postgres:// URL')
  const host = decoded(url.hostname).replace(/^\[(.*)\]$/, '$1')
  if (host === '' || host.includes('/')) throw new Error('names no host')
  const other = [...url.searchParams.keys()].find((name) => name !== 'sslmode')
  if (other !== undefined) throw new Error(`has the parameter ${other}; only sslmode is taken`)
  return {
    host,
    port: url.port === '' ? defaultPort : Number(url.port),
    user: decoded(url.username),
    password: decoded(url.password),
    database: decoded(url.pathname.slice(1)) || decoded(url.username),
    tls: tlsModeOf(url.searchParams.getAll('sslmode')),
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Error('has a % that must be written %25')
  }
}

function tlsModeOf([given = 'verify-full', ...more]: string[]): TlsMode {
  const mode = Object.hasOwn(tlsModes, given) ? tlsModes[given] : undefined
  if (mode !== undefined && more.length === 0) return mode
  throw new Error(`must have one sslmode of ${Object.keys(tlsModes).join(', ')}, or none, which is verify-full`)
}

/** Settings of TLS for the driver, which is given a resolved address: the name is checked all the same. */
export function tlsOptions({ host, tls }: SqlSource): false | { rejectUnauthorized: boolean; servername?: string } {
  if (tls === 'disable') return false
  return { rejectUnauthorized: tls !== 'no-verify', ...(isIP(host) === 0 && { servername: host }) }
}
