/** One message to one endpoint: its headers with the signature over that very body, one request. */

import { usualOptions, type DifferingOptions } from '../schemas/endpoint-options.ts'
import { encodeForm } from './form.ts'
import { requestHeaders } from './headers.ts'
import type { SendOutcome } from './outcome.ts'
import type { Sender, SendRequest } from './send.ts'
import { signatureHeaders } from './sign.ts'

export interface OutboundMessage {
  messageId: string
  /** Compact JSON. */
  body: string
  /** Without an id it is none that could fetch its request. */
  endpoint: DifferingOptions & { id?: string | null; url: string; headers: Readonly<Record<string, string>> }
  /** Secrets that sign, newest first; each signs until its time is over. */
  secrets: readonly { secret: string; until: Date | null }[]
  /** When the attempt is made. */
  at: Date
  /** Whether the message must not go out after all; asked just before it would. */
  isCalledOff?: () => boolean
  /** The trace that the request is part of; absent where tracing is off. */
  traceparent?: string | undefined
}

/** The request as it goes out. */
export function messageRequest(outbound: OutboundMessage): SendRequest {
  const { messageId, endpoint, secrets, at, traceparent } = outbound
  const { method, contentType, successStatuses, timeoutSeconds = usualOptions.timeoutSeconds } = endpoint
  const body = contentType === 'form' ? encodeForm(outbound.body) : outbound.body
  const signature = signatureHeaders({ secrets: secretsInForce(secrets, at), messageId, body, at })
  return {
    url: endpoint.url,
    endpointId: endpoint.id ?? undefined,
    method: method ?? usualOptions.method,
    headers: requestHeaders({ contentType, staticHeaders: endpoint.headers, signature, traceparent }),
    body,
    timeoutMs: timeoutSeconds * 1_000,
    successStatuses,
  }
}

/** Secrets that sign at a moment, newest first. */
export const secretsInForce = (secrets: OutboundMessage['secrets'], at: Date): string[] =>
  secrets.filter(({ until }) => until === null || until > at).map(({ secret }) => secret)

/** Sends one message to one endpoint.
 *  @param signal  stops the attempt
 *  @throws SendAbortedError when it was stopped before an answer; CalledOffError when it was called off */
export function postMessage(sender: Sender, outbound: OutboundMessage, signal?: AbortSignal): Promise<SendOutcome> {
  const { isCalledOff } = outbound
  return sender.send({ ...messageRequest(outbound), ...(isCalledOff && { isCalledOff }) }, signal)
}
