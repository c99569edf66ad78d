/** What is kept of an attempt: what was sent and answered, as it was then. Values of an endpoint's own headers are secrets, and are
 *  not kept. */

import type { EndpointOptions } from '../schemas/endpoint-options.ts'
import { cutToBytes } from './excerpt.ts'
import { isOwn, mask, requestHeaders } from './headers.ts'
import type { SendOutcome } from './outcome.ts'
import type { SendRequest } from './send.ts'
import { idAndTime } from './sign.ts'

/** Most bytes of evidence of one attempt, unless its delivery gives it less. */
export const maxEvidenceBytes = 5 * 1024

/** Most headers of an answer that are kept. */
const maxAnswerHeaders = 50

/** Of all bytes of evidence: those that the excerpt may have, and as many the names of the endpoint's own headers. */
const smallShare = 1 / 5

/** Bytes that evidence takes beyond what is bounded by shares: signatures, the trace, names of members. */
const fixedBytes = 384

/** What an attempt cannot be told from otherwise: all else of its request follows from the event and the time. */
export interface Evidence {
  /** `POST` unless given. */
  method?: EndpointOptions['method']
  /** JSON unless given. */
  contentType?: EndpointOptions['contentType']
  /** `X-Signature` and `webhook-signature`; absent where it was not signed. */
  signatures?: [string, string]
  /** Names of the endpoint's own headers; none unless given. */
  names?: string[]
  traceparent?: string
  /** Headers of the answer, names and values in turn; absent where there was none. */
  answer?: string[]
  /** Beginning of the answer's body, cleaned. */
  excerpt?: string
  /** Not all headers are kept. */
  isCut?: true
}

/** The evidence of an attempt as JSON.
 *  @param maxBytes  of what the endpoint and its owner may make long */
export function evidenceOf(request: SendRequest, outcome: SendOutcome, maxBytes: number): string {
  const { answerHeaders, excerpt } = outcome
  const sent = sentPart(request, maxBytes * smallShare)
  const answer = answerHeaders && keptAnswer(answerHeaders, maxBytes * (1 - 2 * smallShare))
  const isCut = sent.isCut === true || answer?.isCut === true
  const evidence: Evidence = {
    ...sent,
    ...(answer && { answer: answer.kept }),
    ...(excerpt && { excerpt: cutToBytes(excerpt, Math.floor(maxBytes * smallShare)) }),
    ...(isCut && { isCut }),
  }
  const text = JSON.stringify(evidence)
  // Text that is full of quotes is twice as long in JSON.
  return Buffer.byteLength(text) > maxBytes + fixedBytes
    ? JSON.stringify({ ...sent, ...(answer && { answer: [] }), isCut: true } satisfies Evidence)
    : text
}

function sentPart({ method = 'POST', headers }: SendRequest, maxNames: number): Evidence {
  const { 'X-Signature': signature, 'webhook-signature': signatures, traceparent } = headers
  const isForm = headers['Content-Type'] !== jsonType
  const all = Object.keys(headers).filter((name) => !isOwn(name) && name !== 'traceparent')
  let left = maxNames
  const names = all.filter((name) => (left -= name.length + 3) >= 0)
  return {
    ...(method !== 'POST' && { method }),
    ...(isForm && { contentType: 'form' }),
    ...(signature !== undefined && signatures !== undefined && { signatures: [signature, signatures] }),
    ...(names.length > 0 && { names }),
    ...(traceparent !== undefined && { traceparent }),
    ...(names.length < all.length && { isCut: true }),
  }
}

const jsonType = requestHeaders({ staticHeaders: {}, signature: {} })['Content-Type']

function keptAnswer(headers: readonly [string, string][], maxBytes: number): { kept: string[]; isCut: boolean } {
  const kept: string[] = []
  let left = maxBytes
  for (const [name, value] of headers) {
    left -= name.length + Buffer.byteLength(value)
    if (left < 0 || kept.length === 2 * maxAnswerHeaders) return { kept, isCut: true }
    kept.push(name, isSecret(name) ? mask : value)
  }
  return { kept, isCut: false }
}

const isSecret = (name: string): boolean =>
  /cookie|authoriz|authentication-info|token|secret|password|credential|api-?key/.test(name)

/** An attempt in full, as it was. */
export interface ShownEvidence {
  request: {
    method: EndpointOptions['method']
    headers: Record<string, string>
    contentType: EndpointOptions['contentType']
  }
  /** Undefined where there was none. */
  answer: { name: string; value: string }[] | undefined
  excerpt: string | undefined
  isCut: boolean
}

/** Turns `evidenceOf` back.
 *  @param at  when the attempt was made */
export function showEvidence(evidence: Evidence, messageId: string, at: Date): ShownEvidence {
  const {
    method = 'POST',
    contentType = 'json',
    signatures,
    names = [],
    traceparent,
    answer,
    excerpt,
    isCut = false,
  } = evidence
  const headers = requestHeaders({
    contentType,
    traceparent,
    staticHeaders: Object.fromEntries(names.map((name) => [name, mask])),
    signature: signatures ? signedWith(signatures, messageId, at) : {},
  })
  return { request: { method, headers, contentType }, answer: answer && pairsOf(answer), excerpt, isCut }
}

const signedWith = ([single, several]: [string, string], messageId: string, at: Date): Record<string, string> => ({
  'X-Signature': single,
  ...idAndTime(messageId, at),
  'webhook-signature': several,
})

const pairsOf = (flat: readonly string[]): { name: string; value: string }[] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? { name, value: flat[index + 1] ?? '' } : []))
