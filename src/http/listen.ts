import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { StartError } from '../errors.ts'

/** Addresses that mean "all", which a browser cannot open. */
const anyAddress = ['0.0.0.0', '::']

/** @param setting  what says the port
 *  @returns the URL that the server answers at
 *  @throws StartError when it cannot listen there */
export async function listen(server: FastifyInstance, host: string, port: number, setting = 'PORT'): Promise<string> {
  try {
    await server.listen({ host, port })
  } catch (error) {
    throw new StartError(whyNot((error as NodeJS.ErrnoException).code, host, port, setting), { cause: error })
  }
  const address = server.server.address() as AddressInfo
  const bracketed = host.includes(':') ? `[${host}]` : host
  return `http://${anyAddress.includes(host) ? 'localhost' : bracketed}:${address.port}`
}

/** What the operator can do, by the system's code. */
function whyNot(code: string | undefined, host: string, port: number, setting: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use; stop what uses it or set ${setting}`
    case 'EADDRNOTAVAIL':
      return `HOST ${host} is no address of this machine: set one that it has, or 0.0.0.0 for all`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST ${host} is a name without an address: set an address of this machine, or 0.0.0.0 for all`
    case 'EACCES':
      return `Port ${port} on ${host} is not for this user; set ${setting} to one from 1024 on`
    default:
      return `HOST ${host} with port ${port} cannot be listened at (${code ?? 'unknown error'}); set HOST or ${setting}`
  }
}
