/** What an attempt without an answer means for the delivery. */

import { errors } from 'undici'
import type { FailureCode, SendOutcome } from './outcome.ts'
import { ForbiddenAddressError } from './connect.ts'
import { OriginSaturatedError } from './connections.ts'
import { AttemptTimeoutError } from './exchange.ts'

interface Classification {
  kind: 'unavailable' | 'rejected'
  code: FailureCode
  reason: string
}

interface Circumstances {
  /** Host of the endpoint, as it stands in its URL. */
  host: string
  timeoutMs: number
  durationMs: number
}

/** @see Node.js documentation, "TLS", "X509 certificate error codes" */
const certificateErrors = new Set([
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECRYPT_CRL_SIGNATURE',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_NOT_YET_VALID',
  'CERT_HAS_EXPIRED',
  'CERT_CHAIN_TOO_LONG',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CRL_SIGNATURE_FAILURE',
  'CRL_NOT_YET_VALID',
  'CRL_HAS_EXPIRED',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'ERROR_IN_CRL_LAST_UPDATE_FIELD',
  'ERROR_IN_CRL_NEXT_UPDATE_FIELD',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'INVALID_CA',
  'PATH_LENGTH_EXCEEDED',
  'INVALID_PURPOSE',
  'HOSTNAME_MISMATCH',
  'UNSPECIFIED',
])

const resetErrors = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])
const timeoutErrors = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'])
const unreachableErrors = new Set([
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
])

/** The outcome of an attempt that ended without an answer.
 *  @param error  what the network, the address guard or undici threw */
export const classifyFailure = (error: unknown, circumstances: Circumstances): SendOutcome => ({
  ...classify(error, circumstances),
  durationMs: circumstances.durationMs,
})

/** Why an address gave no answer, in a sentence. */
export const failureReason = (error: unknown, host: string): string =>
  classify(error, { host, timeoutMs: 0, durationMs: 0 }).reason

const classify = (error: unknown, { host, timeoutMs }: Circumstances): Classification => {
  if (error instanceof AttemptTimeoutError) {
    return mayPass(
      'timeout',
      `${host} did not answer within ${timeoutMs === 1_000 ? '1 second' : `${timeoutMs / 1_000} seconds`}.`,
    )
  }
  if (error instanceof ForbiddenAddressError) return final('forbidden_address', error.message)
  if (error instanceof OriginSaturatedError) return mayPass('saturated', `Too many requests wait for ${host} already.`)
  const code = codeOf(error)
  if (isCertificateError(error)) {
    return final('certificate', `The certificate of ${host} is not trusted (${code}), so no request was sent.`)
  }
  if (timeoutErrors.has(code)) return mayPass('timeout', `${host} did not accept a connection in time.`)
  if (code === 'ECONNREFUSED')
    return mayPass('connection_refused', `${host} refused the connection: nothing listens there.`)
  if (resetErrors.has(code)) return mayPass('connection_reset', `${host} closed the connection before it answered.`)
  if (unreachableErrors.has(code)) return mayPass('unreachable', `${host} cannot be reached (${code}).`)
  return classifyDns(code, host) ?? classifyTls(code, host) ?? classifyHttp(error, code, host)
}

const classifyDns = (code: string, host: string): Classification | undefined => {
  if (code === 'ENOTFOUND') return mayPass('dns_failure', `The name ${host} does not resolve to an address.`)
  return code.startsWith('EAI_') || code === 'ENODATA'
    ? mayPass('dns_failure', `The name ${host} could not be resolved (${code}).`)
    : undefined
}

const classifyTls = (code: string, host: string): Classification | undefined =>
  code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')
    ? mayPass(
        'tls_failure',
        `The TLS handshake with ${host} failed (${code}): it must speak TLS 1.2 or newer on this port.`,
      )
    : undefined

const classifyHttp = (error: unknown, code: string, host: string): Classification => {
  if (error instanceof errors.HeadersOverflowError) {
    return mayPass('invalid_response', `The head of the answer from ${host} is larger than 16 KB.`)
  }
  if (error instanceof errors.HTTPParserError) {
    return mayPass('invalid_response', `What ${host} answered is not HTTP.`)
  }
  if (error instanceof errors.SocketError) {
    return mayPass('connection_reset', `${host} closed the connection before it answered.`)
  }
  if (error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError) {
    return final('invalid_request', `The request to ${host} cannot be sent: ${error.message}.`)
  }
  if (error instanceof errors.RequestAbortedError || error instanceof errors.SecureProxyConnectionError) {
    return mayPass('proxy_failure', `The outbound proxy did not connect to ${host}: ${error.message}`)
  }
  return mayPass('network_failure', `The connection to ${host} failed (${code || 'no further details'}).`)
}

const mayPass = (code: FailureCode, reason: string): Classification => ({ kind: 'unavailable', code, reason })
const final = (code: FailureCode, reason: string): Classification => ({ kind: 'rejected', code, reason })

/** Whether a server was not trusted. */
export const isCertificateError = (error: unknown): boolean => certificateErrors.has(codeOf(error))

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
