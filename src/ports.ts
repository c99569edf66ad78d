/** Looks for local ports before another program is told to listen on them. */

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give to outgoing connections, one of which could take a port before its server does. */
const firstPort = 20_000
const lastPort = 32_767
const triesPerPort = 100

/** Whether nobody listens on this port of this address at the moment. */
export async function isPortFree(host: string, port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen({ host, port, exclusive: true })
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

/** Ports of this address that are free at the moment, all different. @throws Error when too few are found */
export async function findFreePorts(host: string, count: number): Promise<number[]> {
  const ports = new Set<number>()
  for (let tries = 0; ports.size < count && tries < count * triesPerPort; tries++) {
    const port = randomInt(firstPort, lastPort + 1)
    if (await isPortFree(host, port)) ports.add(port)
  }
  if (ports.size < count) throw new Error(`found only ${ports.size} of ${count} free ports of ${host}`)
  return [...ports]
}
