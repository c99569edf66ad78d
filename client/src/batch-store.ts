/** Where batches survive the end of the process. */

/** The safe copy of one batch. */
export interface BatchFile {
  /** False when a message could not be written: then the batch would not survive. */
  readonly complete: boolean
  /** Whether it has waited for longer than the store keeps anything. */
  readonly isExpired: boolean
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
  /** Removes what ended processes left with another endpoint or write key, once it is too old. */
  removeOutdated(): string[][]
  /** Leaves what is still there to the next process. */
  release(): void
}
