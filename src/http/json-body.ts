/** Request bodies that are JSON whatever their Content-Type says, plain, gzipped or deflated. */

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, inflate, inflateRaw } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { boundUnfinishedBodies, type UnfinishedBodies } from './unfinished-bodies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes of the JSON that `body` was parsed from, after inflating; 0 without a body. */
    bodyBytes: number
  }
}

export interface JsonBodyOptions {
  /** Most bytes of the body, as sent and after inflating. */
  maxBytes: number
  /** Bytes that all bodies of the scope together may hold before they are whole; beyond it the one that began first is
   *  answered 408. */
  maxUnfinishedBytes: number
  /** Called for each body that is refused, before the caller gets the answer. */
  onRefused?: (error: AppError) => void
}

/** Bytes that are read and thrown away so that a client which sends too much gets to read the answer. Cut off at once,
 *  it would see a broken connection and send the same again. */
const maxDiscardedBytes = 16 * 1024 * 1024

/** Makes the routes of `scope` take any body as JSON; `request.body` is the parsed value, `undefined` without a body.
 *  Call it in a scope of its own: it replaces all content parsers there.
 *  @throws AppError (as the request's error) `bad_request`, `too_large` or `unsupported_media_type` */
export function acceptJson(scope: FastifyInstance, { maxBytes, maxUnfinishedBytes, onRefused }: JsonBodyOptions): void {
  const unfinished = boundUnfinishedBodies(maxUnfinishedBytes)
  scope.decorateRequest('bodyBytes', 0)
  scope.addHook('onRequest', ignoreContentType)
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    try {
      const sent = await readAll(payload, maxBytes, unfinished)
      const json = await decode(sent, request.headers['content-encoding'], maxBytes)
      request.bodyBytes = json.length
      return parseJson(json)
    } catch (error) {
      if (error instanceof AppError) onRefused?.(error)
      throw error
    }
  })
}

/** Hook `onRequest` of routes that take any Content-Type: Fastify refuses a malformed one before it asks a parser. */
export function ignoreContentType(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  delete request.headers['content-type']
  done()
}

const tooLarge = (maxBytes: number): AppError =>
  new AppError('too_large', `The request is larger than ${maxBytes} bytes.`)

function readAll(stream: IncomingMessage, maxBytes: number, unfinished: UnfinishedBodies): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let isKept = true
    const held = unfinished.begin(() => {
      isKept = false
      chunks.length = 0
      reject(new AppError('request_timeout', 'The request took too long to arrive while many others did.'))
    })
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (isKept && bytes <= maxBytes) {
        chunks.push(chunk)
        held.grow(chunk.length)
      } else {
        chunks.length = 0
        held.end()
      }
      if (bytes > maxDiscardedBytes) reject(tooLarge(maxBytes))
    })
    stream.once('end', () => {
      held.end()
      if (bytes > maxBytes) reject(tooLarge(maxBytes))
      else resolve(Buffer.concat(chunks, bytes))
    })
    // Every request closes; making an error for each would cost more than reading it.
    const endEarly = () => {
      held.end()
      if (!stream.readableEnded) reject(new AppError('bad_request', 'The connection ended before the body did.'))
    }
    stream.once('error', endEarly)
    stream.once('close', endEarly)
  })
}

type Inflate = (data: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>
const gunzipAll: Inflate = promisify(gunzip)
const inflateAll: Inflate = promisify(inflate)
const inflateRawAll: Inflate = promisify(inflateRaw)

async function decode(data: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  const inflateBody = inflaterOf(data, encoding?.trim().toLowerCase())
  if (inflateBody === undefined) return data
  try {
    return await inflateBody(data, { maxOutputLength: maxBytes })
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(maxBytes)
    throw new AppError('bad_request', `The body is not valid ${encoding}.`, { cause: error })
  }
}

function inflaterOf(data: Buffer, encoding: string | undefined): Inflate | undefined {
  switch (encoding) {
    case undefined:
    case '':
    case 'identity':
      return undefined
    case 'gzip':
    case 'x-gzip':
      return gunzipAll
    case 'deflate':
      // HTTP means the zlib format; some clients send the bare one, whose first byte tells it apart.
      return ((data[0] ?? 0) & 0x0f) === 8 ? inflateAll : inflateRawAll
    default:
      throw new AppError('unsupported_media_type', 'Content-Encoding must be gzip, deflate or identity.')
  }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

function parseJson(data: Buffer): unknown {
  if (data.length === 0) return undefined
  if (!isUtf8(data)) throw new AppError('bad_request', 'The body is not valid UTF-8.')
  const start = data.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0
  try {
    return JSON.parse(data.toString('utf8', start))
  } catch (error) {
    throw new AppError('bad_request', 'The body is not JSON.', { cause: error })
  }
}
