import type { FastifyRequest } from 'fastify'

/** The `wait` of a request, as it was sent; nothing where there is none. */
export function asksToWait({ query }: FastifyRequest): { wait?: unknown } {
  const { wait } = query as { wait?: unknown }
  return wait === undefined ? {} : { wait }
}
