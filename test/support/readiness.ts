/** What a node says of itself at `/readyz`. */

import type { MissingPart } from '../../src/schemas/system.ts'

interface Readiness {
  status: number
  retryAfter: string | null
  /** With status 200. */
  missing?: MissingPart[]
  /** With status 503. */
  message?: string
}

/** @returns undefined when nobody answers at this address */
export async function readinessOf(url: string): Promise<Readiness | undefined> {
  const response = await fetch(`${url}/readyz`).catch(() => undefined)
  if (response === undefined) return undefined
  const body = (await response.json()) as Pick<Readiness, 'missing' | 'message'>
  return { ...body, status: response.status, retryAfter: response.headers.get('retry-after') }
}

/** Whether the node takes events and everything is there that delivers them. */
export async function isComplete(url: string): Promise<boolean> {
  const readiness = await readinessOf(url)
  return readiness?.status === 200 && readiness.missing?.length === 0
}
