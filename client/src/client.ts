/** The client on every platform; `index.ts` and `browser.ts` add what only theirs can do. */

import type { Batch } from './batch.ts'
import { BatchQueue } from './batch-queue.ts'
import type {
  AliasCall,
  AnyEvents,
  CallType,
  GroupCall,
  Identity,
  IdentifyCall,
  Message,
  PageCall,
  ScreenCall,
  TrackCall,
} from './calls.ts'
import { Delivery } from './delivery.ts'
import { AnalyticsError } from './errors.ts'
import type { QueuedMessage } from './message.ts'
import { writeMessage } from './message.ts'
import type { Settings } from './options.ts'
import type { Platform } from './platform.ts'
import { pause, unref } from './retry.ts'

const DEFAULT_CLOSE_MS = 10_000

/** What became of the messages so far. */
export interface Stats {
  /** Waiting or under way. */
  pending: number
  delivered: number
  /** Not delivered: reported to `onError`, or called by it when it was told of a full queue. */
  dropped: number
}

/** @typeParam Who  what a call must say of whom it is about */
export class Client<Events extends { [Name in keyof Events]: object } = AnyEvents, Who = Identity> {
  readonly #settings: Settings
  readonly #queue: BatchQueue
  readonly #delivery: Delivery
  readonly #end = new AbortController()
  #lastFlushAt = Date.now()
  #timer: ReturnType<typeof setTimeout> | undefined
  #closing: Promise<void> | undefined
  #tellsOfOverflow = false

  constructor(settings: Settings, platform: Platform) {
    this.#settings = settings
    this.#queue = new BatchQueue(settings, platform)
    this.#delivery = new Delivery(this.#queue, settings, platform)
  }

  /**
   * Queues what someone did, and returns at once with the message's id.
   * @throws AnalyticsError when the call is wrong or the client is closed; this holds for all six calls
   */
  track<Name extends keyof Events & string>(call: TrackCall<Events, Name, Who>): string {
    return this.#enqueue('track', call)
  }

  /** Queues who someone is. */
  identify(call: IdentifyCall<Who>): string {
    return this.#enqueue('identify', call)
  }

  /** Queues a page that was seen. */
  page(call: PageCall<Who>): string {
    return this.#enqueue('page', call)
  }

  /** Queues a screen that was seen. */
  screen(call: ScreenCall<Who>): string {
    return this.#enqueue('screen', call)
  }

  /** Queues what someone belongs to. */
  group(call: GroupCall<Who>): string {
    return this.#enqueue('group', call)
  }

  /** Queues the union of two identities. */
  alias(call: AliasCall): string {
    return this.#enqueue('alias', call)
  }

  /** Sends what waits; resolves when every message queued before is delivered or reported to `onError`. */
  async flush(): Promise<void> {
    this.#flushNow()
    // Only a timer keeps a program alive while it awaits this: the client's own timers do not.
    const alive = setInterval(() => {}, DEFAULT_CLOSE_MS)
    await Promise.all(this.#queue.all().map((batch) => batch.finished))
    clearInterval(alive)
  }

  /**
   * Refuses further calls and flushes. What is not delivered within `timeoutMs` (default 10,000) stays in the spool, or
   * without one is reported to `onError`. A second call waits for the first.
   */
  close({ timeoutMs = DEFAULT_CLOSE_MS }: { timeoutMs?: number } = {}): Promise<void> {
    this.#closing ??= Promise.race([this.flush(), pause(timeoutMs, this.stopped)]).then(() => this.abandon())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get stats(): Stats {
    const { delivered, dropped } = this.#delivery
    return { pending: this.#queue.messages, delivered, dropped }
  }

  /** Aborts when the client is closed, after its last flush. */
  protected get stopped(): AbortSignal {
    return this.#end.signal
  }

  /** Sends what waits at once, even beside a request under way. */
  protected handOver(): void {
    this.#queue.makeDue()
    this.#delivery.startBeside()
  }

  /** Bytes that the queue can still take. */
  protected get room(): number {
    return this.#settings.maxQueueBytes - this.#queue.bytes
  }

  /** Queues a batch as it is, and sends it when its turn comes. */
  protected addBatch(batch: Batch): void {
    this.#queue.addBatch(batch)
    this.#delivery.start()
  }

  /** Ends now: what is not delivered stays in the spool, or is reported to `onError`. Further calls are refused. */
  protected abandon(): void {
    this.#closing ??= Promise.resolve()
    clearTimeout(this.#timer)
    this.#end.abort()
    this.#delivery.stop()
  }

  /** Forgets what waits or is under way, without a word to anybody. */
  protected discard(): void {
    this.#delivery.discard()
  }

  /** A call with what the platform knows of whom it is about. */
  protected completeCall(call: unknown): unknown {
    return call
  }

  /** Queues a message, as far as there is room. */
  protected acceptMessage({ json, bytes }: QueuedMessage): void {
    if (this.#tellsOfOverflow) {
      // Were `onError` called for this message too, it would call again, and so on without end.
      this.#delivery.dropped++
    } else if (bytes.length <= this.room) {
      this.#add(json, bytes)
    } else {
      // A copy, because `onError` runs meanwhile and may call.
      this.#addToFull(json, bytes.slice())
    }
  }

  protected dropOverflow(lost: Message[]): void {
    this.#tellsOfOverflow = true
    this.#delivery.drop('queue_full', `over ${this.#settings.maxQueueBytes} bytes would wait`, lost)
    this.#tellsOfOverflow = false
  }

  #enqueue(type: CallType, call: unknown): string {
    if (this.#closing) throw new AnalyticsError('closed', `${type} after close`)
    const message = writeMessage(type, this.completeCall(call), new Date())
    this.acceptMessage(message)
    return message.messageId
  }

  #add(json: string, bytes: Uint8Array): void {
    this.#queue.add(json, bytes)
    this.#schedule()
  }

  /** Drops, as `overflow` says, the oldest that is not under way, or this one. */
  #addToFull(json: string, bytes: Uint8Array): void {
    const { maxQueueBytes, overflow } = this.#settings
    while (overflow === 'drop-oldest' && bytes.length <= maxQueueBytes && bytes.length > this.room) {
      const oldest = this.#queue.dropOldest()
      if (!oldest) break
      const lost = oldest.read()
      oldest.file?.remove()
      this.dropOverflow(lost)
    }
    if (bytes.length <= this.room) this.#add(json, bytes)
    else this.dropOverflow([JSON.parse(json) as Message])
  }

  /** Starts what is due by number, or sets the timer for what will be due by time. */
  #schedule(): void {
    if (this.#queue.isDue) return this.#flushNow()
    const waitMs = Math.max(0, this.#lastFlushAt + this.#settings.flushAfter - Date.now())
    this.#timer ??= unref(setTimeout(() => this.#flushNow(), waitMs))
  }

  #flushNow(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#lastFlushAt = Date.now()
    this.#queue.makeDue()
    this.#delivery.start()
  }
}
