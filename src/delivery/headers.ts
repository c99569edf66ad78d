/** The headers of a delivered request, and which static headers an endpoint may have. */

import type { EndpointOptions } from '../schemas/endpoint-options.ts'

/** Longest name of a static header, in characters. */
export const maxHeaderNameLength = 256

/** Stands in the place of a secret that nobody gets to see. */
export const mask = '********'

const productToken = 'Postrider/1.0'

const mediaTypes = { json: 'application/json', form: 'application/x-www-form-urlencoded' } as const

/** Headers that Postrider sets itself. */
const ownHeaders = new Set([
  'user-agent',
  'content-type',
  'x-signature',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
])

/** Headers that frame the message or steer the connection: a wrong one would break the request or smuggle another. */
const connectionHeaders = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'expect',
  'upgrade',
  'te',
  'trailer',
])

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// Every Latin-1 character but the control characters; 0x80 to 0x9f are plain bytes to HTTP (obs-text).
const latin1Text = /^[\x20-\x7e\x80-\xff]*$/

/** Why an endpoint may not have this static header, as a sentence for its owner; undefined when it may.
 *  @see RFC 9110, sections 5.1, 5.5 and 7.6.1 */
export const headerProblem = (name: string, value: string): string | undefined => {
  if (!token.test(name)) return 'The header name is empty or has characters that HTTP does not allow in it.'
  if (name.length > maxHeaderNameLength) return `The header name is longer than ${maxHeaderNameLength} characters.`
  if (isOwn(name)) return `Postrider sets ${name} itself.`
  const lowerName = name.toLowerCase()
  if (connectionHeaders.has(lowerName) || lowerName.startsWith('proxy-')) {
    return `${name} belongs to the connection and cannot be set.`
  }
  if (!latin1Text.test(value)) return 'The header value has control characters or characters beyond Latin-1.'
  if (value.trim() !== value) return 'The header value begins or ends with a blank, which receivers drop.'
  return undefined
}

/** All headers of one request: the endpoint's static ones, then Postrider's own, which no static one replaces. `traceparent`
 *  is sent where there is a trace, unless the endpoint has a static header of this name.
 *  @see spec/, "Delivery request" */
export const requestHeaders = (options: {
  /** Of the body; JSON unless given. */
  contentType?: EndpointOptions['contentType'] | undefined
  staticHeaders: Readonly<Record<string, string>>
  signature: Readonly<Record<string, string>>
  traceparent?: string | undefined
}): Record<string, string> => ({
  ...(options.traceparent !== undefined &&
    !Object.keys(options.staticHeaders).some((name) => name.toLowerCase() === 'traceparent') && {
      traceparent: options.traceparent,
    }),
  'User-Agent': productToken,
  'Content-Type': mediaTypes[options.contentType ?? 'json'],
  ...options.signature,
  ...Object.fromEntries(Object.entries(options.staticHeaders).filter(([name]) => !isOwn(name))),
})

/** Whether Postrider sets this header itself, in whatever case it is written. */
export const isOwn = (name: string): boolean => ownHeaders.has(name.toLowerCase())
