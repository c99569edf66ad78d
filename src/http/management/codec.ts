/** The codec server that the Temporal UI and the `temporal` command ask for payloads in clear. It answers administrators alone: payloads hold
 *  signatures, and queries of URLs, that the management API masks for viewers, and nothing can mask them inside of a payload. */

import cors from '@fastify/cors'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { PayloadsSchema, type Payloads } from '../../schemas/codec.ts'
import type { Temporal } from '../../temporal/connection.ts'
import { payloadInClear } from '../../temporal/payload-in-clear.ts'
import type { Payload } from '../../temporal/sealed-payloads.ts'
import { errorResponses, security } from './schemas.ts'

/** Largest body, in bytes: the 4 MB that Temporal answers at most, in base64. */
const maxBodyBytes = 6 * 1024 * 1024

/** How long a browser keeps that it may ask, in seconds. */
const preflightSeconds = 600

export interface CodecDependencies {
  temporal: Pick<Temporal, 'payloads' | 'messages' | 'uiUrl'>
  admit: (request: FastifyRequest) => Promise<void>
}

/** Registers `/decode` and `/encode`, for pages of the Temporal UI beside those of this host. */
export const codecRoutes: FastifyPluginAsyncZod<CodecDependencies> = async (app, { temporal, admit }) => {
  await app.register(cors, {
    // Where the UI is may be known later than the routes.
    delegator: async () => ({
      origin: uiOrigins(temporal.uiUrl),
      credentials: true,
      methods: ['POST'],
      allowedHeaders: ['Authorization', 'Content-Type', 'X-Namespace'],
      maxAge: preflightSeconds,
    }),
  })
  // After CORS: the UI can read a refusal, and asks without a name whether it may call.
  app.addHook('onRequest', admit)

  const route = (
    path: string,
    access: 'secrets' | 'write',
    summary: string,
    change: (payload: Payload) => Promise<Payload>,
  ) =>
    app.post(
      path,
      {
        config: { access, otherOrigins: () => uiOrigins(temporal.uiUrl) },
        bodyLimit: maxBodyBytes,
        schema: {
          tags: ['codec'],
          security,
          summary,
          body: PayloadsSchema,
          response: { 200: PayloadsSchema, ...errorResponses },
        },
      },
      async ({ body }) => inBase64(await Promise.all(fromBase64(body).map(change))),
    )
  route('/decode', 'secrets', 'Payloads of Temporal in clear', (payload) => payloadInClear(temporal, payload))
  route('/encode', 'write', 'Payloads as Temporal is to have them', async (payload) => temporal.payloads.seal(payload))
}

/** One that listens on loopback is called by either of its names. */
function uiOrigins(uiUrl: string | undefined): string[] {
  if (uiUrl === undefined) return []
  const { origin } = new URL(uiUrl)
  return [origin, origin.replace('//127.0.0.1', '//localhost')]
}

const fromBase64 = ({ payloads }: Payloads): Payload[] =>
  payloads.map(({ metadata = {}, data = '' }) => ({
    metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')])),
    data: Buffer.from(data, 'base64'),
  }))

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const inBase64 = (payloads: Payload[]): Payloads => ({
  payloads: payloads.map(({ metadata, data }) => ({
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, toBase64(value)])),
    data: toBase64(data ?? new Uint8Array()),
  })),
})
