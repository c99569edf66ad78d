/** How requests to an endpoint are made, and for how long, where it wants them in another way than usual. */

import { z } from 'zod'
import { RetryPausesSchema, RetryWindowHoursSchema } from './retry-options.ts'

/** Longest time that an endpoint may be given for its answer, in seconds. */
export const maxTimeoutSeconds = 30

/** Most requests a second that a rate can be set to; beyond it no rate need be set. */
export const highestRate = 1_000

/** Attempts that a node makes at one endpoint at a time where no bound is set for it. */
export const mostConcurrent = 128

/** Most entries of a list of statuses. */
const maxStatuses = 20

/** A status, or a range of them. Never 5xx: proxies answer so for an endpoint that saw nothing of the event. */
const SuccessStatusSchema = z
  .union([z.number(), z.string()])
  .refine(
    (one) => (typeof one === 'number' ? Number.isInteger(one) && one >= 300 && one <= 499 : isRange(one)),
    'must be a status from 300 to 499, or a range of them as in "400-404"',
  )

const isRange = (text: string): boolean => /^[34]\d\d-[34]\d\d$/.test(text) && text.slice(0, 3) <= text.slice(4)

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
  successStatuses: z
    .array(SuccessStatusSchema)
    .max(maxStatuses)
    .describe('Statuses beside 2xx by which it takes an event: 300 to 499, or ranges as in `"400-404"`; at most 20'),
  maxPerSecond: z
    .int()
    .min(1)
    .max(highestRate)
    .nullable()
    .describe('Requests a second that each node sends it at most, 1 to 1,000, spread evenly; `null`: no bound'),
  maxConcurrent: z
    .int()
    .min(1)
    .max(mostConcurrent)
    .nullable()
    .describe('Attempts that each node makes at a time at most, 1 to 128; `null`: as many as it proves to take'),
  retryWindowHours: RetryWindowHoursSchema.nullable().describe(
    'For how long after its first attempt an event is retried there, 1 to 72 hours; `null`: as at its destination',
  ),
  retryPauses: RetryPausesSchema.nullable().describe('Pauses between attempts there; `null`: as at its destination'),
})
export type EndpointOptions = z.infer<typeof EndpointOptionsSchema>

/** Those in which an endpoint differs from others. */
export const DifferingOptionsSchema = EndpointOptionsSchema.partial()
export type DifferingOptions = z.infer<typeof DifferingOptionsSchema>

/** What an endpoint does that says nothing else: `spec/`, "Delivery request" and "Limits". */
export const usualOptions: EndpointOptions = {
  method: 'POST',
  contentType: 'json',
  timeoutSeconds: 5,
  successStatuses: [],
  maxPerSecond: null,
  maxConcurrent: null,
  retryWindowHours: null,
  retryPauses: null,
}

const names = Object.keys(usualOptions) as (keyof EndpointOptions)[]

/** The options among the members of an endpoint, as far as they differ from the usual ones. */
export const differingOptions = (endpoint: DifferingOptions): Partial<EndpointOptions> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = endpoint[name]
      return value === undefined || JSON.stringify(value) === JSON.stringify(usualOptions[name]) ? [] : [[name, value]]
    }),
  )

/** All options of an endpoint. */
export const optionsOf = (endpoint: DifferingOptions): EndpointOptions => ({
  ...usualOptions,
  ...differingOptions(endpoint),
})
