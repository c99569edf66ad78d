/** Workflows that show what the SDK does. */

import { ApplicationFailure, proxyLocalActivities } from '@temporalio/workflow'

const { double } = proxyLocalActivities<{ double(value: number): Promise<number> }>({ startToCloseTimeout: '10 s' })

/** Occupies the processor for as long, without waiting anywhere. */
export async function loop(iterations: number): Promise<number> {
  let sum = 0
  for (let n = 0; n < iterations; n++) sum += n % 7
  return sum
}

export const doubled = (value: number): Promise<number> => double(value)

export async function fail(): Promise<void> {
  throw ApplicationFailure.nonRetryable('on purpose')
}
