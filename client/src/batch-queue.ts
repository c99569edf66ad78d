/** Messages that wait, already cut into batches that one request can carry. */

import { MAX_BATCH_MESSAGES } from './limits.ts'
import type { BatchFile, Platform } from './platform.ts'

/** Room for what stands around the messages: `{"batch":[],"sentAt":"…","writeKey":"…"}`. */
const ENVELOPE_BYTES = 512

/** Messages that travel in one request. */
export class Batch {
  readonly messages: string[]
  readonly file: BatchFile | undefined
  bytes: number
  /** Resolves when the batch is delivered or given up. */
  readonly settled: Promise<void>
  readonly settle: () => void

  constructor(file?: BatchFile, messages: string[] = [], bytes = 0) {
    this.file = file
    this.messages = messages
    this.bytes = bytes
    let settle = () => {}
    this.settled = new Promise((resolve) => (settle = resolve))
    this.settle = settle
  }

  add(json: string, bytes: number): void {
    this.messages.push(json)
    this.bytes += bytes
    this.file?.append(json)
  }
}

/** First in, first out. New messages go into the open batch, the last one; all before it are full. */
export class BatchQueue {
  readonly #flushAt: number
  readonly #maxBatchBytes: number
  readonly #store: Platform['store']
  readonly #taken = new Set<Batch>()
  #full: Batch[] = []
  #open: Batch | undefined
  #openIsDue = false
  /** JSON bytes that wait or are under way. */
  bytes = 0
  /** Messages that wait or are under way. */
  messages = 0

  constructor(flushAt: number, { maxBatchBytes, store }: Pick<Platform, 'maxBatchBytes' | 'store'>) {
    this.#flushAt = flushAt
    this.#maxBatchBytes = maxBatchBytes - ENVELOPE_BYTES
    this.#store = store
  }

  add(json: string, bytes: number): void {
    if (this.#open && !this.#fits(this.#open, bytes)) this.#closeOpen()
    this.#open ??= new Batch(this.#store?.create())
    this.#open.add(json, bytes)
    this.bytes += bytes
    this.messages++
  }

  /** Adds a batch as it is; it is due at once. */
  addBatch(batch: Batch): void {
    this.#full.push(batch)
    this.bytes += batch.bytes
    this.messages += batch.messages.length
  }

  /** Whether something waits that `take` would give. */
  get isDue(): boolean {
    return this.#full.length > 0 || this.#openIsDue || (this.#open?.messages.length ?? 0) >= this.#flushAt
  }

  /** Makes due all that waits. The open batch still takes in messages until its turn comes. */
  makeDue(): void {
    this.#openIsDue = this.#open !== undefined
  }

  /** The next batch that is due. It counts until it is passed to `done`. */
  take(): Batch | undefined {
    if (!this.isDue) return undefined
    if (this.#full.length === 0) this.#closeOpen()
    const batch = this.#full.shift()
    if (batch) this.#taken.add(batch)
    return batch
  }

  /** Forgets a batch that was delivered or given up. */
  done(batch: Batch): void {
    this.#taken.delete(batch)
    this.bytes -= batch.bytes
    this.messages -= batch.messages.length
    batch.settle()
  }

  /** All batches, those under way first. */
  all(): Batch[] {
    return [...this.#taken, ...this.#full, ...(this.#open ? [this.#open] : [])]
  }

  /** Empties the queue and returns what was in it or under way. */
  drain(): Batch[] {
    const batches = this.all()
    this.#full = []
    this.#open = undefined
    this.#openIsDue = false
    batches.forEach((batch) => this.done(batch))
    return batches
  }

  #fits(batch: Batch, bytes: number): boolean {
    // A comma stands between two messages.
    const total = batch.bytes + batch.messages.length + bytes
    return batch.messages.length < MAX_BATCH_MESSAGES && total <= this.#maxBatchBytes
  }

  #closeOpen(): void {
    if (this.#open) this.#full.push(this.#open)
    this.#open = undefined
    this.#openIsDue = false
  }
}
