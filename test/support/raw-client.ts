/** Clients that send what they are told, byte by byte, as no HTTP library would. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface RawClient {
  socket: Socket
  /** What it was answered so far. */
  answer: string
  isClosed: boolean
}

/** Connects to the server at `url` and writes `parts`. */
export async function openRawClient(url: string, ...parts: (string | Buffer)[]): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const client: RawClient = { socket, answer: '', isClosed: false }
  socket.on('data', (data: Buffer) => (client.answer += data.toString()))
  // A reset is an end like any other.
  socket.on('error', () => undefined)
  socket.on('close', () => (client.isClosed = true))
  await once(socket, 'connect')
  for (const part of parts) socket.write(part)
  return client
}

/** Request line and headers. */
export const head = (method: string, path: string, headers: string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'Host: node', ...headers, '', ''].join('\r\n')

/** One part of a body that is sent with `Transfer-Encoding: chunked`. */
export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

export const lastChunk = '0\r\n\r\n'
