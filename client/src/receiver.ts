/** For receivers of deliveries: checks of signatures, and handlers for Fastify, Express and plain Request/Response. */

export type { DeliveredMessage, ReceiverOptions } from './receiver/read-delivery.ts'
export { expressReceiver } from './receiver/express.ts'
export { fastifyReceiver } from './receiver/fastify.ts'
export { fetchReceiver } from './receiver/fetch.ts'
export { verifySignature, verifyStandardWebhook } from './receiver/signatures.ts'
export type { HeaderValue, StandardWebhookHeaders } from './receiver/signatures.ts'
