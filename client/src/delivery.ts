/** Carries queued batches to the server: one at a time, in order, each until it is accepted or given up. Where
 *  there is a spool, it may keep what would be given up. */

import type { Batch } from './batch.ts'
import type { BatchQueue } from './batch-queue.ts'
import type { Message } from './calls.ts'
import { createDebug } from './debug.ts'
import type { DeliveryErrorCode } from './errors.ts'
import { DeliveryError } from './errors.ts'
import type { Settings } from './options.ts'
import type { Outcome, RejectedItem } from './outcome.ts'
import type { Platform } from './platform.ts'
import { pause, retryPauseMs } from './retry.ts'
import { sendBatch } from './send-batch.ts'

/**
 * One request at a time keeps the order of the calls and lets a `Retry-After` hold back everything. It is no bottleneck:
 * what arrives meanwhile fills the next request, up to 512,000 bytes.
 */
export class Delivery {
  readonly #queue: BatchQueue
  readonly #settings: Settings
  readonly #platform: Platform
  readonly #debug: (line: string) => void
  #stop = new AbortController()
  #runs = 0
  /** Why the last attempt failed; empty when it did not. */
  #trouble = ''
  delivered = 0
  /** Messages that were not and will not be delivered, for whatever reason. */
  dropped = 0

  constructor(queue: BatchQueue, settings: Settings, platform: Platform) {
    this.#queue = queue
    this.#settings = settings
    this.#platform = platform
    this.#debug = createDebug(platform.debug)
  }

  /** Sends what is due, in the background. */
  start(): void {
    if (this.#runs === 0) void this.#run()
  }

  /** Sends what is due beside the request under way: for a page that may be about to go. */
  startBeside(): void {
    void this.#run()
  }

  /** Ends the request and the pause under way, and gives up what is queued; a store keeps it for the next process. */
  stop(): void {
    this.#stop.abort(new Error('closed'))
    for (const batch of this.#queue.drain()) {
      if (batch.file?.complete) this.#debug(`left ${batch.count} to the next process`)
      else this.drop('closed', `closed before delivery: ${this.#trouble || 'it had not ended'}`, batch.read())
    }
    this.#platform.close?.()
  }

  /** Forgets what is queued, and ends the request and the pause under way, without a word to anybody. */
  discard(): void {
    this.#stop.abort(new Error('discarded'))
    this.#stop = new AbortController()
    this.#queue.drain()
  }

  /** Tells `onError` of messages that are lost. */
  drop(
    code: Exclude<DeliveryErrorCode, 'spool_failed' | 'kept'>,
    message: string,
    lost: readonly Message[],
    answer: Answer = {},
  ): void {
    this.dropped += lost.length
    this.#debug(`dropped ${lost.length}: ${code}, ${message}`)
    this.#settings.onError(new DeliveryError(code, message, lost, answer))
  }

  async #run(): Promise<void> {
    this.#runs++
    for (let batch = this.#queue.take(); batch; batch = this.#queue.take()) await this.#deliver(batch)
    this.#runs--
  }

  async #deliver(batch: Batch): Promise<void> {
    const { signal } = this.#stop
    for (let attempt = 1; !signal.aborted; attempt++) {
      const outcome = await sendBatch(batch, this.#settings, this.#platform, signal)
      if (signal.aborted) return
      this.#trouble = outcome.kind === 'accepted' ? '' : outcome.message
      const isOver = outcome.kind === 'refused' || attempt > this.#settings.maxRetries
      if (outcome.kind === 'accepted' || (isOver && !this.#platform.keeps?.(batch, outcome, this.#queue.all())))
        return this.#finish(batch, outcome)
      const pauseMs = Math.round(retryPauseMs(attempt, outcome.retryAfterMs, isOver))
      this.#debug(`attempt ${attempt} failed: ${outcome.message}; next in ${pauseMs} ms`)
      await pause(pauseMs, signal)
    }
  }

  #finish(batch: Batch, outcome: Outcome): void {
    if (outcome.kind === 'accepted') {
      const rejected = outcome.rejected.length > 0 ? this.#reject(batch.read(), outcome.rejected) : 0
      this.delivered += batch.count - rejected
      this.#debug(`sent ${batch.count}, rejected ${rejected}`)
    } else {
      const parts = this.#platform.halve?.(batch, outcome)
      if (parts) return this.#queue.putBack(batch, parts)
      const code = outcome.kind === 'refused' ? 'refused' : 'gave_up'
      this.drop(code, outcome.message, batch.read(), outcome)
    }
    batch.file?.remove()
    this.#queue.done(batch)
  }

  #reject(messages: readonly Message[], items: readonly RejectedItem[]): number {
    let rejected = 0
    for (const { index, code, message } of items) {
      const lost = messages[index]
      if (!lost) continue
      rejected++
      this.drop('rejected', message ?? 'rejected', [lost], { reason: code })
    }
    return rejected
  }
}

type Answer = Partial<Pick<DeliveryError, 'status' | 'reason'>>
