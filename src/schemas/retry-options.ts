/** For how long an event is retried, and when: at a destination, or at one of its endpoints. */

import { z } from 'zod'

/** Longest retry window of a destination or an endpoint, in hours. */
export const maxRetryWindowHours = 72

/** For how many hours after its first attempt an event is retried. */
export const RetryWindowHoursSchema = z.int().min(1).max(maxRetryWindowHours)

/** Longest first pause of retries, in seconds. */
export const maxFirstPauseSeconds = 3_600

/** Bounds of the longest pause of retries, in seconds: a window of 72 hours has 52,000 attempts at most. */
export const longestPauseSeconds = { min: 10, max: 43_200 }

/** When retries come: each pause is twice the one before, from the first to the longest; at least half of it is waited, the rest is
 *  random. */
export const RetryPausesSchema = z
  .strictObject({
    firstSeconds: z
      .int()
      .min(1)
      .max(maxFirstPauseSeconds)
      .describe('Pause before the first retry, 1 to 3,600 seconds; each further one is twice as long'),
    maxSeconds: z
      .int()
      .min(longestPauseSeconds.min)
      .max(longestPauseSeconds.max)
      .describe('Longest pause, 10 to 43,200 seconds, no shorter than the first'),
  })
  .refine(({ firstSeconds, maxSeconds }) => firstSeconds <= maxSeconds, {
    path: ['maxSeconds'],
    message: 'must not be shorter than the first pause',
  })
export type RetryPauses = z.infer<typeof RetryPausesSchema>
