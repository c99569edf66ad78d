/** Messages that wait, already cut into batches that one request can carry. */

import { Batch } from './batch.ts'
import type { Settings } from './options.ts'
import type { Platform } from './platform.ts'

/** A queue that drops its oldest batch holds at least so many, so that little is lost at a time. */
const MIN_BATCHES = 16

/** First in, first out. New messages go into the open batch, the last one; all before it are full. */
export class BatchQueue {
  readonly #flushAt: number
  readonly #maxBatchBytes: number
  readonly #store: Platform['store']
  readonly #taken = new Set<Batch>()
  #full: Batch[] = []
  #open: Batch | undefined
  #openIsDue = false
  #spare: Uint8Array<ArrayBuffer> | undefined
  /** JSON bytes that wait or are under way. */
  bytes = 0
  /** Messages that wait or are under way. */
  messages = 0

  constructor({ flushAt, maxQueueBytes, overflow }: Settings, { maxBatchBytes, store }: Platform) {
    this.#flushAt = flushAt
    this.#maxBatchBytes =
      overflow === 'drop-oldest' ? Math.min(maxBatchBytes, maxQueueBytes / MIN_BATCHES) : maxBatchBytes
    this.#store = store
  }

  /** Adds a message: its JSON for the store, and the same in UTF-8. */
  add(json: string, message: Uint8Array): void {
    if (this.#open && !this.#open.hasRoomFor(message, this.#maxBatchBytes)) this.#closeOpen()
    const before = this.#open?.bytes ?? 0
    this.#open ??= this.#newBatch()
    this.#open.add(message)
    this.bytes += this.#open.bytes - before
    this.messages++
    // Last, because `onError` is called when the disk refuses, and may call in turn.
    this.#open.file?.append(json)
  }

  /** Adds a batch as it is; it is due at once. */
  addBatch(batch: Batch): void {
    this.#full.push(batch)
    this.bytes += batch.bytes
    this.messages += batch.count
  }

  /** Whether something waits that `take` would give. */
  get isDue(): boolean {
    return this.#full.length > 0 || this.#openIsDue || (this.#open?.count ?? 0) >= this.#flushAt
  }

  /** Makes due all that waits. The open batch still takes in messages until its turn comes. */
  makeDue(): void {
    this.#openIsDue = this.#open !== undefined
  }

  /** The next batch that is due. It counts until it is passed to `done`. */
  take(): Batch | undefined {
    const batch = this.isDue ? this.#shift() : undefined
    if (batch) this.#taken.add(batch)
    return batch
  }

  /** Removes the batch that has waited longest. What is under way stays. */
  dropOldest(): Batch | undefined {
    const batch = this.#shift()
    if (batch) this.done(batch)
    return batch
  }

  /** Puts the parts of a batch that is under way in its place; they are next. */
  putBack(batch: Batch, parts: Batch[]): void {
    this.#taken.delete(batch)
    this.#full.unshift(...parts)
    this.bytes += parts.reduce((sum, { bytes }) => sum + bytes, -batch.bytes)
  }

  /** Forgets a batch that was delivered or given up. */
  done(batch: Batch): void {
    this.#taken.delete(batch)
    this.bytes -= batch.bytes
    this.messages -= batch.count
    this.#spare = batch.buffer
    batch.finish()
  }

  /** All batches, those under way first. */
  all(): Batch[] {
    return [...this.#taken, ...this.#full, ...(this.#open ? [this.#open] : [])]
  }

  /** Empties the queue and returns what was in it or under way. */
  drain(): Batch[] {
    const batches = this.all()
    this.#closeOpen()
    this.#full = []
    batches.forEach((batch) => this.done(batch))
    return batches
  }

  #shift(): Batch | undefined {
    if (this.#full.length === 0) this.#closeOpen()
    return this.#full.shift()
  }

  #newBatch(): Batch {
    const batch = new Batch(this.#store?.create(), this.#spare)
    this.#spare = undefined
    return batch
  }

  #closeOpen(): void {
    if (this.#open) this.#full.push(this.#open)
    this.#open = undefined
    this.#openIsDue = false
  }
}
