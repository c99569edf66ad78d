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

export interface Platform {
  /** The largest JSON that one request may carry, in bytes. */
  maxBatchBytes: number
  /** Method, headers and body of the request that carries a batch. */
  createRequest(batch: Batch): RequestInit | Promise<RequestInit>
  /** Value of the platform's DEBUG setting, as in `analytics,http`. */
  debug: string
  store?: BatchStore | undefined
}
