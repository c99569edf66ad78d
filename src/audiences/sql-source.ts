/** The connection string of a SQL pull, read strictly: it may name a server, and no file of this machine. */

import { isIP } from 'node:net'

export interface SqlSource {
  host: string
  port: number
  user: string
  password: string
  database: string
  /** `require` encrypts without checking the certificate, as PostgreSQL's own clients do; `verify-full` checks it. */
  sslMode: 'disable' | 'require' | 'verify-full'
}

const defaultPort = 5_432
const sslModes = ['disable', 'require', 'verify-full'] as const

/** @throws Error with what is wrong, without the string itself */
export function parseSqlSource(connectionString: string): SqlSource {
  if (!URL.canParse(connectionString)) throw new Error('is not a postgres:// URL')
  const url = new URL(connectionString)
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') throw new Error('is not a postgres:// URL')
  const host = decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1')
  if (host === '' || host.includes('/')) throw new Error('names no host')
  const other = [...url.searchParams.keys()].find((name) => name !== 'sslmode')
  if (other !== undefined) throw new Error(`has the parameter ${other}; only sslmode is taken`)
  const given = url.searchParams.get('sslmode') ?? 'disable'
  const sslMode = sslModes.find((mode) => mode === given)
  if (sslMode === undefined) throw new Error(`has an sslmode that is none of ${sslModes.join(', ')}`)
  return {
    host,
    port: url.port === '' ? defaultPort : Number(url.port),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)) || decodeURIComponent(url.username),
    sslMode,
  }
}

/** Settings of TLS for the driver, which is given a resolved address: the name is checked all the same. */
export function tlsOptions({ host, sslMode }: SqlSource): false | { rejectUnauthorized: boolean; servername?: string } {
  if (sslMode === 'disable') return false
  return { rejectUnauthorized: sslMode === 'verify-full', ...(isIP(host) === 0 && { servername: host }) }
}
