/** What differs between Node, Deno and Bun on one side and browsers on the other. */

import type { Batch } from './batch.ts'
import type { BatchStore } from './batch-store.ts'
import type { Failure } from './outcome.ts'

/** A server's answer. */
export interface Answer {
  status: number
  retryAfter: string | null | undefined
  text: string
}

export interface Platform {
  /** The largest JSON that one request may carry, in bytes. */
  maxBatchBytes: number
  /** Posts a batch to the server. Rejects when there is no answer, or `signal` aborts. */
  post(batch: Batch, signal: AbortSignal): Promise<Answer>
  /** The same messages in two batches, when the failure is that they were too large and there are several. */
  halve?(batch: Batch, failure: Failure): Batch[] | undefined
  /** Value of the platform's DEBUG setting, as in `analytics,http`. */
  debug: string
  store?: BatchStore | undefined
  /** Whether a batch that would be given up is kept and tried again instead. Finishes what is then safe of all `waiting`. */
  keeps?(batch: Batch, failure: Failure, waiting: readonly Batch[]): boolean
  /** Lets go of what is open; a store leaves what it has to the next process. */
  close?(): void
}
