import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { PullGuard } from '../../audiences/pull-http.ts'
import { parseSqlSource } from '../../audiences/sql-source.ts'
import { AppError } from '../../errors.ts'
import type { Membership } from '../../schemas/audience.ts'

/** Holds a membership against the rules of fetching; what only DNS can tell is checked when it is fetched.
 *  @param isNew  a new one needs its connection string; a changed one may keep it
 *  @throws AppError bad_request that names the member at fault */
export function checkMembership(membership: Membership, guard: PullGuard, { isNew }: { isNew: boolean }): void {
  switch (membership.kind) {
    case 'push':
      return
    case 'http': {
      const refusal = guard.refuseUrl(membership.url)
      if (refusal !== undefined) throw memberError('membership.url', refusal.reason)
      for (const [name, value] of Object.entries(membership.headers ?? {})) checkHeader(name, value)
      return
    }
    case 'sql':
      if (membership.connectionString !== undefined) checkConnection(membership.connectionString, guard)
      else if (isNew) throw memberError('membership.connectionString', 'it is missing')
  }
}

function checkHeader(name: string, value: string): void {
  const path = `membership.headers.${name}`
  try {
    validateHeaderName(name)
  } catch {
    throw memberError(path, `the header name "${name}" is empty or has characters that HTTP does not allow in it`)
  }
  try {
    validateHeaderValue(name, value)
  } catch {
    throw memberError(path, `the value of the header ${name} has control characters or characters beyond Latin-1`)
  }
}

function checkConnection(connectionString: string, guard: PullGuard): void {
  const path = 'membership.connectionString'
  let host: string
  try {
    ;({ host } = parseSqlSource(connectionString))
  } catch (error) {
    throw memberError(path, (error as Error).message)
  }
  const refusal = guard.refuseUrl(`http://${host.includes(':') ? `[${host}]` : host}/`)
  if (refusal !== undefined) throw memberError(path, refusal.reason)
}

const memberError = (path: string, reason: string): AppError =>
  new AppError('bad_request', `${path}: ${reason}`, { path })
