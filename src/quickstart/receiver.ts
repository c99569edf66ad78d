/** A small endpoint that verifies what it gets and prints one line for each delivery. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readDelivery, type ReceivedDelivery } from '../receiver/read-delivery.ts'

export interface Receiver {
  port: number
  stop(): Promise<void>
}

/** @param port  0 takes a free one; one that is taken is replaced by a free one
 *  @param currentSecret  the shared secret of the destination that leads here, as it is now
 *  @param print  takes one line per delivery */
export async function startReceiver(
  port: number,
  currentSecret: () => string | undefined,
  print: (line: string) => void,
): Promise<Receiver> {
  const server = createServer((request, response) => {
    answer(request, response, currentSecret(), print).catch(() => response.destroy())
  })
  await listen(server, port).catch(() => listen(server, 0))
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  secret: string | undefined,
  print: (line: string) => void,
): Promise<void> {
  const delivery = await readDelivery(request, secret)
  if (delivery !== undefined) print(describe(delivery))
  response.writeHead(delivery === undefined ? 413 : delivery.isGenuine ? 200 : 401).end()
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })

function describe({ message, isGenuine }: ReceivedDelivery): string {
  const time = new Date().toISOString().slice(11, 19)
  if (message === undefined) return `${time}  a request that is no event, refused`
  const { type, event, name, userId, anonymousId } = message
  const what = [type, event ?? name].filter(Boolean).map(printable).join(' ')
  const who = printable(userId ?? anonymousId ?? 'nobody')
  return `${time}  ${what} by ${who}, signature ${isGenuine ? 'valid' : 'NOT valid, refused'}`
}

/** Text of a sender must not steer the terminal. */
const printable = (text: unknown): string =>
  String(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .slice(0, 80)
