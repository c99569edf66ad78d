/** The reference of the ingest bench, in a process of its own: a route that parses the same JSON and answers. */

import fastify from 'fastify'

const server = fastify({ bodyLimit: 1_048_576 })
server.post('/v1/*', async () => ({ success: true }))
const url = await server.listen({ host: '127.0.0.1', port: 0 })
process.once('disconnect', () => process.exit())
process.send?.({ url })
