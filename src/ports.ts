/** Looks for local ports before another program is told to listen on them. */

import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'

/** Whether nobody listens on this port of this address at the moment. */
export async function isPortFree(host: string, port: number): Promise<boolean> {
  return (await bindBriefly(host, port)) !== undefined
}

/** Ports of this address that are free at the moment, all different. */
export async function findFreePorts(host: string, count: number): Promise<number[]> {
  const ports = await Promise.all(Array.from({ length: count }, () => bindBriefly(host, 0)))
  return ports.map((port) => {
    if (port === undefined) throw new Error(`no port of ${host} can be bound`)
    return port
  })
}

async function bindBriefly(host: string, port: number): Promise<number | undefined> {
  const server = createServer()
  try {
    server.listen({ host, port, exclusive: true })
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  } catch {
    return undefined
  } finally {
    server.close()
  }
}
