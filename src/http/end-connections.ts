/** Ends what would hold up the end of the server beyond its last requests. */

import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long requests that run may go on once the server ends, in milliseconds. */
const graceMs = 10_000

/** Browsers connect ahead of their requests. Node counts a connection without a request as busy, until the time for its
 *  first headers is over: such ones are ended at once, the others after a while. */
export function endConnectionsOnClose(app: FastifyInstance): void {
  const { server } = app
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('preClose', async () => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    setTimeout(() => server.closeAllConnections(), graceMs).unref()
  })
}
