/** Plugin for Fastify. Fastify's types are described here as far as they are used: the package depends on nothing. */

import type { ReceiverOptions } from './read-delivery.ts'
import { MAX_BODY_BYTES, readDelivery } from './read-delivery.ts'

interface FastifyRequestLike {
  body: unknown
  headers: Record<string, string | string[] | undefined>
}

interface FastifyReplyLike {
  code(status: number): { send(): unknown }
}

interface FastifyLike {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (request: unknown, body: Buffer, done: (error: Error | null, body: Buffer) => void) => void,
  ): unknown
  route(options: {
    method: 'POST'
    url: string
    handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>
  }): unknown
}

/**
 * Fastify plugin: `app.register(fastifyReceiver({ path: '/hook', secret, onMessage }))`. It keeps the body's bytes, for
 * its own route only. What `onMessage` throws goes to the application's error handler.
 */
export function fastifyReceiver(options: ReceiverOptions & { path: string }): (app: FastifyLike) => Promise<void> {
  return async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, (_request, body, done) => {
      done(null, body)
    })
    const handler = async ({ body, headers }: FastifyRequestLike, reply: FastifyReplyLike) => {
      const bytes = body instanceof Uint8Array ? body : new Uint8Array()
      const delivery = readDelivery(bytes, (name) => headers[name]?.toString(), options)
      if (delivery.status !== 200) return reply.code(delivery.status).send()
      await options.onMessage(delivery.message)
      return reply.code(204).send()
    }
    app.route({ method: 'POST', url: options.path, handler })
  }
}
