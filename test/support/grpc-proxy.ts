/** A proxy before a Temporal server, as a cloud has them: with TLS, keys, and calls that it does not let through. */

import { once } from 'node:events'
import {
  connect,
  constants,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { ServerCertificate } from './certificates.ts'

export interface GrpcProxyOptions {
  /** Which calls are answered PERMISSION_DENIED, by their paths: `/package.Service/Method`. */
  denies?: (path: string) => boolean
  /** All calls with another one are answered PERMISSION_DENIED. */
  apiKey?: string
  /** TLS with this certificate. */
  tls?: ServerCertificate
  /** With TLS: clients show a certificate of this authority. */
  clientAuthority?: string
}

export interface GrpcProxy extends AsyncDisposable {
  /** host:port */
  address: string
}

const permissionDenied = '7'

/** Starts a proxy on a free port of 127.0.0.1.
 *  @param target  host:port of the server behind it, in plain text */
export async function startGrpcProxy(target: string, options: GrpcProxyOptions = {}): Promise<GrpcProxy> {
  const { denies, apiKey, tls, clientAuthority } = options
  const upstream = connect(`http://${target}`)
  upstream.on('error', () => undefined)
  const mayPass = (headers: IncomingHttpHeaders): boolean =>
    denies?.(headers[':path'] ?? '') !== true && (apiKey === undefined || headers.authorization === `Bearer ${apiKey}`)

  const serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    stream.on('error', () => undefined)
    if (mayPass(headers)) return forward(stream, headers)
    const status = { 'grpc-status': permissionDenied, 'grpc-message': 'Request unauthorized.' }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true })
  }
  const forward = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    const call = upstream.request({ ...headers, ':authority': target, ':scheme': 'http' })
    let trailers: IncomingHttpHeaders = {}
    call.on('error', () => stream.destroy())
    call.on('trailers', (last: IncomingHttpHeaders) => (trailers = last))
    call.on('response', (answer, flags) => {
      if (stream.destroyed) return
      const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      stream.respond(answer, { endStream, waitForTrailers: !endStream })
      if (!endStream) call.pipe(stream)
    })
    stream.on('wantTrailers', () => stream.sendTrailers(trailers))
    stream.on('close', () => call.close())
    stream.pipe(call)
  }

  const server =
    tls === undefined
      ? createServer()
      : createSecureServer({
          ...tls,
          ...(clientAuthority !== undefined && { ca: clientAuthority, requestCert: true, rejectUnauthorized: true }),
        })
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => undefined)
    session.on('close', () => sessions.delete(session))
  })
  server.on('stream', serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy()
      upstream.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
