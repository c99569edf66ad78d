/** The messages of one request. */

import type { BatchFile } from './batch-store.ts'
import type { Message } from './calls.ts'
import { encoder, MAX_BATCH_MESSAGES } from './limits.ts'

const FIRST_BYTES = 8_192
/** 8 KB, 32 KB, 128 KB and then room for the largest batch: few copies, and little left to the garbage collector. */
const GROWTH = 4
const COMMA = 0x2c
/** Room for what follows the messages: `],"sentAt":"…","writeKey":"…"}`. */
const TAIL_BYTES = 512

const head = encoder.encode('{"batch":[')

/**
 * Messages are kept as the bytes that will be sent, in one growing buffer that becomes the request's body. A queue of
 * strings took half as much memory again.
 */
export class Batch {
  readonly file: BatchFile | undefined
  /** Resolves when the batch is delivered or given up. */
  readonly finished: Promise<void>
  readonly finish: () => void
  /** Messages in the batch. */
  count = 0
  /** Bytes of the body so far. */
  bytes = head.length
  #buffer: Uint8Array<ArrayBuffer>

  /** @param buffer  that of a finished batch, to be used again */
  constructor(file: BatchFile | undefined, buffer = new Uint8Array(FIRST_BYTES)) {
    this.file = file
    this.#buffer = buffer
    this.#buffer.set(head)
    let finish = () => {}
    this.finished = new Promise((resolve) => (finish = resolve))
    this.finish = finish
  }

  hasRoomFor(message: Uint8Array, maxBytes: number): boolean {
    return this.count < MAX_BATCH_MESSAGES && this.bytes + 1 + message.length + TAIL_BYTES <= maxBytes
  }

  /** Adds a message, copying its bytes. */
  add(message: Uint8Array): void {
    const needed = this.bytes + 1 + message.length + TAIL_BYTES
    if (needed > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(needed, GROWTH * this.#buffer.length))
      larger.set(this.#buffer)
      this.#buffer = larger
    }
    if (this.count++ > 0) this.#buffer[this.bytes++] = COMMA
    this.#buffer.set(message, this.bytes)
    this.bytes += message.length
  }

  /**
   * The body of a request: the messages, and the time of sending, which lets the server correct this machine's clock.
   * It is good until the next call.
   */
  body(writeKey?: string): Uint8Array<ArrayBuffer> {
    const tail = encoder.encode(`],${JSON.stringify({ sentAt: new Date(), writeKey }).slice(1)}`)
    this.#buffer.set(tail, this.bytes)
    return this.#buffer.subarray(0, this.bytes + tail.length)
  }

  /** For the next batch, once this one is finished: a buffer per batch was a tenth of a program's memory. */
  get buffer(): Uint8Array<ArrayBuffer> {
    return this.#buffer
  }

  read(): Message[] {
    return (JSON.parse(new TextDecoder().decode(this.body())) as { batch: Message[] }).batch
  }
}
