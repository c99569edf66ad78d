import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { StartError } from '../errors.ts'

/** Addresses that mean "all", which a browser cannot open. */
const anyAddress = ['0.0.0.0', '::']

/** @param setting  what says the port
 *  @returns the URL that the server answers at
 *  @throws StartError when the port is in use */
export async function listen(server: FastifyInstance, host: string, port: number, setting = 'PORT'): Promise<string> {
  try {
    await server.listen({ host, port })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw new StartError(`Port ${port} on ${host} is in use; stop what uses it or set ${setting}`, { cause: error })
    throw error
  }
  const address = server.server.address() as AddressInfo
  const bracketed = host.includes(':') ? `[${host}]` : host
  return `http://${anyAddress.includes(host) ? 'localhost' : bracketed}:${address.port}`
}
