/** What an answer's status means for the delivery. */

import { STATUS_CODES } from 'node:http'
import { isSuccess, type Answer } from './answer.ts'
import type { EndpointOptions } from '../schemas/endpoint-options.ts'
import { cleanExcerpt, hideSecrets } from './excerpt.ts'
import type { SendOutcome } from './outcome.ts'
import { parseRetryAfter } from './retry-after.ts'

/** Client errors that speak of the moment, not of the request: Request Timeout, Too Early, Too Many Requests. */
const passingClientErrors = new Set([408, 425, 429])
const statusesWithRetryAfter = new Set([429, 503])
const maxOriginLength = 200

/** The outcome of an attempt that was answered.
 *  @param successStatuses  statuses of success beside 2xx
 *  @param secretsOf  texts of the request that what is kept of the answer must not repeat */
export const classifyAnswer = (
  { status, headers, body, durationMs }: Answer,
  successStatuses: EndpointOptions['successStatuses'] | undefined,
  secretsOf: () => readonly string[],
): SendOutcome => {
  const secrets = secretsOf()
  const excerpt = isPlain(headers['content-encoding']) ? cleanExcerpt(body, secrets) : undefined
  const answered = {
    status,
    durationMs,
    answerHeaders: shownHeaders(headers, secrets),
    ...(excerpt !== undefined && { excerpt }),
  }
  if (isSuccess(status, successStatuses)) return { kind: 'delivered', ...answered }
  if (status < 400)
    return { kind: 'rejected', code: 'redirect', reason: redirectReason(status, headers['location']), ...answered }
  const answer = { code: 'http_status' as const, reason: `The endpoint answered ${named(status)}.`, ...answered }
  if (status < 500 && !passingClientErrors.has(status)) return { kind: 'rejected', ...answer }
  const retryAfter = statusesWithRetryAfter.has(status) ? single(headers['retry-after']) : undefined
  const retryAfterMs = retryAfter === undefined ? undefined : parseRetryAfter(retryAfter, new Date())
  return { kind: 'unavailable', ...answer, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

const shownHeaders = (headers: Answer['headers'], secrets: readonly string[]): [name: string, value: string][] =>
  Object.entries(headers).flatMap(([name, values = []]) =>
    [values].flat().map((value): [string, string] => [name, hideSecrets(value, secrets)]),
  )

const named = (status: number): string => [status, STATUS_CODES[status]].filter(Boolean).join(' ')

/** The path of the new URL may name the user, and a reason is not sealed: the evidence has the whole `Location`. */
const redirectReason = (status: number, location: string | string[] | undefined): string => {
  const place = originOf(single(location) ?? '')
  const destination = place === undefined ? '' : ` to ${place}`
  return `The endpoint answered ${named(status)}${destination}. Redirects are not followed: enter the final URL, which the Location header of the answer has.`
}

const originOf = (location: string): string | undefined => {
  const url = URL.canParse(location) ? new URL(location) : undefined
  // The origin of any other is "null".
  return url && /^https?:$/.test(url.protocol) ? url.origin.slice(0, maxOriginLength) : undefined
}

const single = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value)

/** Compressed bodies are left as they are: unpacking could take any amount of memory. */
const isPlain = (encoding: string | string[] | undefined): boolean =>
  encoding === undefined || single(encoding) === 'identity'
