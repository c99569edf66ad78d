/** How requests to an endpoint are made, where it wants them in another way than usual. */

import { z } from 'zod'

/** Longest time that an endpoint may be given for its answer, in seconds. */
export const maxTimeoutSeconds = 30

/** All options of an endpoint. */
export const EndpointOptionsSchema = z.object({
  method: z.enum(['POST', 'PUT', 'PATCH']).describe('Method of the request; `POST` where it is absent'),
  contentType: z
    .enum(['json', 'form'])
    .describe('Whether its requests have the event as JSON or as the fields of a form; `json` where it is absent'),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(maxTimeoutSeconds)
    .describe('How long it has for the head of its answer, 1 to 30 seconds; 5 where it is absent'),
})
export type EndpointOptions = z.infer<typeof EndpointOptionsSchema>

/** Those in which an endpoint differs from others. */
export const DifferingOptionsSchema = EndpointOptionsSchema.partial()
export type DifferingOptions = z.infer<typeof DifferingOptionsSchema>

/** What an endpoint does that says nothing else: `spec/`, "Delivery request" and "Limits". */
export const usualOptions: EndpointOptions = { method: 'POST', contentType: 'json', timeoutSeconds: 5 }

const names = Object.keys(usualOptions) as (keyof EndpointOptions)[]

/** The options among the members of an endpoint, as far as they differ from the usual ones. */
export const differingOptions = (endpoint: DifferingOptions): Partial<EndpointOptions> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = endpoint[name]
      return value === undefined || value === usualOptions[name] ? [] : [[name, value]]
    }),
  )

/** All options of an endpoint. */
export const optionsOf = (endpoint: DifferingOptions): EndpointOptions => ({
  ...usualOptions,
  ...differingOptions(endpoint),
})
