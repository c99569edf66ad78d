/** A way to a server that can go dead as a failover leaves it: connections stay open, and nothing comes through. */

import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface TcpGate {
  port: number
  /** Nothing passes any more on the connections of now; later ones are as before. */
  silence(): void
  close(): Promise<void>
}

export async function openTcpGate(host: string, port: number): Promise<TcpGate> {
  const pairs: [Socket, Socket][] = []
  let silent = 0
  const server = createServer((inside) => {
    const outside = connect(port, host)
    const end = (): void => [inside, outside].forEach((socket) => socket.destroy())
    for (const socket of [inside, outside]) socket.on('error', end).on('close', end)
    inside.pipe(outside).pipe(inside)
    pairs.push([inside, outside])
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    silence() {
      for (const sockets of pairs.slice(silent)) sockets.forEach((socket) => socket.unpipe().pause())
      silent = pairs.length
    },
    async close() {
      for (const sockets of pairs) sockets.forEach((socket) => socket.destroy())
      server.close()
      await once(server, 'close')
    },
  }
}
