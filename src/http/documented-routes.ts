/** What the description says of routes that check their bodies themselves, or answer for machines: these schemas are
 *  read, never run. */

import type { FastifySchema } from 'fastify'
import { z } from 'zod'
import { FirstOutcomeSchema } from '../schemas/first-outcome.ts'
import { eventTypes } from '../schemas/message.ts'
import { ReadinessSchema } from '../schemas/system.ts'
import { ErrorSchema, errorResponses } from './management/schemas.ts'

const json = z.record(z.string(), z.unknown())

const call = {
  messageId: z.string().max(100).optional().describe('The same id again is the same event; made unless given'),
  userId: z.string().optional(),
  anonymousId: z.string().optional(),
  timestamp: z.string().optional().describe('ISO 8601'),
  context: json.optional(),
  integrations: json.optional().describe('Destination names, or All, to booleans'),
  writeKey: z.string().optional().describe('Instead of the Authorization header'),
}

const ownMembers: Record<(typeof eventTypes)[number], z.ZodRawShape> = {
  track: { event: z.string(), properties: json.optional() },
  page: { name: z.string().optional(), category: z.string().optional(), properties: json.optional() },
  screen: { name: z.string().optional(), category: z.string().optional(), properties: json.optional() },
  identify: { traits: json.optional() },
  group: { groupId: z.string(), traits: json.optional() },
  alias: { previousId: z.string(), userId: z.string() },
}

const RejectedSchema = z.object({
  index: z.int(),
  messageId: z.string().nullable(),
  code: z.string(),
  message: z.string(),
})

const IngestAnswerSchema = z.object({
  success: z.literal(true),
  accepted: z.array(z.string()).describe('Message ids of the valid events'),
  rejected: z.array(RejectedSchema).optional(),
})

const ingest = (summary: string, body: z.ZodType): FastifySchema => ({
  summary,
  security: [{ writeKey: [] }, {}],
  body,
  response: { 200: IngestAnswerSchema, ...errorResponses },
})

const WaitQuerySchema = z.object({
  wait: z
    .string()
    .optional()
    .describe('Answer when the first attempt is over, or after this time: at most `10s`, such as `3s` or `500ms`'),
})

const outcome = FirstOutcomeSchema.nullable()
  .optional()
  .describe('With `wait`: what became of the event; null where that is not known')

const single = eventTypes.map((type): [string, FastifySchema] => {
  const body = z.looseObject({ ...call, ...ownMembers[type] })
  const described = ingest(`One ${type} call`, body)
  const response = { 200: IngestAnswerSchema.extend({ outcome }), ...errorResponses }
  return [`/v1/${type}`, { ...described, querystring: WaitQuerySchema, response }]
})

/** What the browser library calls the same paths. */
const short = single.map(([path, schema]): [string, FastifySchema] => [path.slice(0, '/v1/'.length + 1), schema])

const BatchSchema = z.looseObject({
  batch: z.array(z.looseObject({ type: z.enum(eventTypes), ...call })).max(2_500),
  context: json.optional(),
  integrations: json.optional(),
  sentAt: z.string().optional(),
  writeKey: z.string().optional(),
})
const batch = ['/v1/batch', '/v1/import', '/v1/b'].map((path): [string, FastifySchema] => [
  path,
  ingest('Several calls; a bad one does not sink the others', BatchSchema),
])

const text = (description: string) => ({ description, content: { 'text/plain': { schema: z.string() } } })

/** By path, as it is registered. */
export const documentedRoutes: Record<string, FastifySchema | undefined> = {
  ...Object.fromEntries([...single, ...short, ...batch]),
  '/v1/projects/:writeKey/settings': {
    summary: 'Settings for the browser library',
    params: z.object({ writeKey: z.string() }),
    response: { 200: json, ...errorResponses },
  },
  '/cluster-info': {
    summary: 'For clients that ask for it',
    response: { 200: z.object({ nodeCount: z.int() }), '4xx': ErrorSchema },
  },
  '/healthz': {
    summary: 'Whether the process lives',
    response: { 200: z.object({ status: z.literal('alive') }), '4xx': ErrorSchema, 503: ErrorSchema },
  },
  '/readyz': {
    summary: 'Whether the node can take events',
    response: { 200: ReadinessSchema, '4xx': ErrorSchema, 503: ErrorSchema },
  },
  '/metrics': {
    summary: 'Figures for Prometheus',
    response: { 200: text('Prometheus text format'), '4xx': ErrorSchema },
  },
}
