/** What differs between Node, Deno and Bun on one side and browsers on the other. */

import type { Batch } from './batch.ts'

/** The safe copy of one batch. */
export interface BatchFile {
  /** False when a message could not be written: then the batch would not survive. */
  readonly complete: boolean
  append(json: string): void
  remove(): void
}

/** A batch that an ended process left behind. */
export interface RecoveredBatch {
  file: BatchFile
  messages: string[]
}

/** Where batches are kept until they are delivered. */
export interface BatchStore {
  create(): BatchFile
  /** Takes over what ended processes left, as far as it fits into `maxBytes`. */
  recover(maxBytes: number): RecoveredBatch[]
  /** Leaves what is still there to the next process. */
  release(): void
}

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
  /** Value of the platform's DEBUG setting, as in `analytics,http`. */
  debug: string
  store?: BatchStore | undefined
  /** Lets go of what is open; a store leaves what it has to the next process. */
  close?(): void
}
