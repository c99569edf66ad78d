/** Lists of attempts. */

import type { Attempt } from './delivery.ts'

/** Names an attempt among those of a delivery. */
export const attemptKey = ({ endpointId, at, id = '' }: Attempt): string => `${at} ${endpointId} ${id}`

/** Each once, oldest first: what was attempted stands in all that was written later, where the evidence of older ones is left out. */
export function distinctAttempts(attempts: readonly Attempt[]): Attempt[] {
  const byKey = new Map<string, Attempt>()
  for (const attempt of attempts) {
    const key = attemptKey(attempt)
    byKey.set(key, { ...byKey.get(key), ...attempt })
  }
  return [...byKey.values()].sort((a, b) => a.at.localeCompare(b.at))
}

/** How many attempts were made at each endpoint, by its id: those in a list, and older ones that were left out of it. */
export function countAtEndpoints(attempts: readonly Attempt[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { endpointId } of attempts) counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1)
  for (const { endpointId, number = 0 } of attempts)
    counts.set(endpointId, Math.max(counts.get(endpointId) ?? 0, number))
  return counts
}

/** The number of the newest attempt of a list of one endpoint's attempts. @param before  how many were made before the list began */
export const lastNumber = (attempts: readonly Attempt[], before: number): number =>
  Math.max(before + attempts.length, ...attempts.map(({ number = 0 }) => number))

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

/** The attempt itself, without what was sent and answered. */
export const withoutEvidence = ({ evidence: _, excerpt: __, ...attempt }: Attempt): Attempt => attempt

/** Most characters of evidence in a list of one endpoint's attempts: that of a hundred attempts where answers are as short as most. */
const maxEvidenceLength = 64 * 1024

/** Leaves out the evidence of the oldest attempts where it is too much for one list. */
export function withinEvidenceBound(attempts: readonly Attempt[]): Attempt[] {
  let length = attempts.reduce((sum, { evidence = '' }) => sum + evidence.length, 0)
  return attempts.map((attempt) => {
    if (length <= maxEvidenceLength) return attempt
    length -= attempt.evidence?.length ?? 0
    return withoutEvidence(attempt)
  })
}
