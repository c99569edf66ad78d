/** Lists of attempts. */

import type { Attempt } from './delivery.ts'

/** Names an attempt among those of a delivery. */
export const attemptKey = ({ endpointId, at, id = '' }: Attempt): string => `${at} ${endpointId} ${id}`

/** Each once, oldest first: what was attempted stands in all that was written later. */
export function distinctAttempts(attempts: readonly Attempt[]): Attempt[] {
  const byKey = new Map(attempts.map((attempt) => [attemptKey(attempt), attempt]))
  return [...byKey.values()].sort((a, b) => a.at.localeCompare(b.at))
}

/** Leaves out URLs that are those of the attempt before: of one endpoint, most go to the same. */
export const withoutSameUrls = (attempts: readonly Attempt[]): Attempt[] =>
  attempts.map((attempt, index) => {
    const { url, ...rest } = attempt
    return url === undefined || url === attempts[index - 1]?.url ? rest : attempt
  })

/** Turns `withoutSameUrls` back. */
export function withAllUrls(attempts: readonly Attempt[]): Attempt[] {
  let last: string | undefined
  return attempts.map((attempt) => {
    last = attempt.url ?? last
    return last === undefined ? attempt : { ...attempt, url: last }
  })
}
