/** Requests that an endpoint fetches, where the node has no way to it. */

import { z } from 'zod'
import { EndpointOptionsSchema } from './endpoint-options.ts'

/** Hosts of endpoints that fetch their requests end so. No name server knows one: a node that cannot keep requests finds nobody, and
 *  tries again later. */
const fetchingHost = '.listen.invalid'

/** The URL of an endpoint that fetches its requests. @param name  of the machine; its letters, digits and hyphens are kept */
export const fetchingUrl = (name: string): string =>
  `https://${
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 60) || 'somebody'
  }${fetchingHost}/`

/** Whether an endpoint fetches its requests. @param host  of its URL */
export const isFetching = (host: string): boolean => host.endsWith(fetchingHost)

/** Longest wait for requests, in seconds. */
export const maxFetchWaitSeconds = 20

/** Most requests of one answer. */
export const maxFetched = 50

const listener = z
  .string()
  .min(1)
  .max(100)
  .describe('Names who fetches, 1 to 100 characters: one at a time fetches those of a destination')

/** What a listener asks for. */
export const FetchRequestsSchema = z.strictObject({
  listener,
  waitSeconds: z
    .int()
    .min(0)
    .max(maxFetchWaitSeconds)
    .default(maxFetchWaitSeconds)
    .describe('How long the answer waits for a request, 0 to 20 seconds; 20 unless given'),
})

/** Who fetches no more. */
export const LeaveRequestsSchema = z.strictObject({ listener })

/** A request, as it would have been sent. */
export const FetchedRequestSchema = z.object({
  id: z.string().describe('Names the request in the answer to it'),
  method: EndpointOptionsSchema.shape.method.describe('Method of the request'),
  headers: z.record(z.string(), z.string()).describe('Its headers, with the signature'),
  body: z.string().describe('Its body'),
})
export type FetchedRequest = z.infer<typeof FetchedRequestSchema>

/** What waited for a listener. */
export const FetchedRequestsSchema = z.object({
  requests: z.array(FetchedRequestSchema).describe('Oldest first, at most 50; none came where it is empty'),
})

/** What became of a request. */
export const RequestAnswerSchema = z.strictObject({
  status: z.int().min(200).max(599).describe('Status that the endpoint answers with, 200 to 599'),
})
