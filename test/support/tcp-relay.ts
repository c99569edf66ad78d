/** A door before a server: connections go through it until a test shuts it, as when the server restarts or hangs. */

import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface TcpRelay extends AsyncDisposable {
  port: number
  /** Resets all connections, and every further one, until `open`. */
  shut(): void
  /** Lets nothing through any more in either direction, without a word, until `open`. */
  freeze(): void
  open(): void
}

/** Starts a relay on a free port of 127.0.0.1 to a port of the same host. */
export async function startTcpRelay(target: number): Promise<TcpRelay> {
  let state: 'open' | 'shut' | 'frozen' = 'open'
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer((socket) => {
    keep(socket)
    if (state === 'shut') {
      socket.resetAndDestroy()
      return
    }
    const upstream = connect(target, '127.0.0.1')
    keep(upstream)
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      from.on('data', (chunk) => to.write(chunk))
      from.on('close', () => to.destroy())
    }
    if (state === 'frozen') for (const end of [socket, upstream]) end.pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    shut() {
      state = 'shut'
      for (const socket of sockets) socket.resetAndDestroy()
    },
    freeze() {
      state = 'frozen'
      for (const socket of sockets) socket.pause()
    },
    open() {
      state = 'open'
      for (const socket of sockets) socket.resume()
    },
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
