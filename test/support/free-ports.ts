/** Ports for servers that cannot choose a free one themselves. */
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Ports of 127.0.0.1, all different, that are free at this moment. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('expected a TCP address')
    return address.port
  })
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
