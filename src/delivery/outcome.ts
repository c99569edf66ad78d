/** What became of one attempt. */

import type { AttemptResult } from './admission.ts'

/** Stable names of the ways in which an attempt fails. */
export type FailureCode =
  | 'http_status'
  | 'redirect'
  | 'timeout'
  | 'dns_failure'
  | 'connection_refused'
  | 'connection_reset'
  | 'unreachable'
  | 'tls_failure'
  | 'certificate'
  | 'invalid_response'
  | 'proxy_failure'
  | 'network_failure'
  | 'saturated'
  | 'forbidden_address'
  | 'invalid_url'
  | 'invalid_request'

export interface Failure extends Answered {
  code: FailureCode
  /** A sentence for the operator: what happened, and how to mend it where that is known. */
  reason: string
  /** Status of the answer, when there was one. */
  status?: number
  /** Milliseconds from the moment a socket was free (or the attempt refused) until the head of the answer or the failure. */
  durationMs: number
}

/** What an outcome has of the answer, when there was one. */
interface Answered {
  /** First part of the answer's body, cleaned; at most 1 KB. */
  excerpt?: string
  /** Headers of the answer, names in lower case; what the request held of secrets is hidden in them. */
  answerHeaders?: [name: string, value: string][]
}

/** The endpoint took the message: it answered with any 2xx, or with another status by which it does so. */
export interface Delivered extends Answered {
  kind: 'delivered'
  status: number
  durationMs: number
}

/** The attempt failed in a way that may pass, so another one is worth making. */
export interface Unavailable extends Failure {
  kind: 'unavailable'
  /** How long the receiver asked to be left alone, in milliseconds (429 and 503 only). */
  retryAfterMs?: number
}

/** The attempt failed for good: another one would end the same way. */
export interface Rejected extends Failure {
  kind: 'rejected'
}

export type SendOutcome = Delivered | Unavailable | Rejected

/** What an outcome tells of the endpoint. Without a status, what is final was found out before anything was sent: an address
 *  that is forbidden, a certificate that nobody trusts. */
export function attemptResult({ kind, status }: SendOutcome): AttemptResult {
  if (kind === 'unavailable') return 'failed'
  return status === undefined ? 'unused' : 'answered'
}
