/** The library in browsers. */

import type { AnyEvents, IdentifyCall, Message, RememberedIdentity } from './calls.ts'
import { Client } from './client.ts'
import { encoder } from './limits.ts'
import type { QueuedMessage } from './message.ts'
import { isObject } from './message.ts'
import type { AnalyticsOptions } from './options.ts'
import { invalid, readFlag, readOptions } from './options.ts'
import { watchPages } from './page-views.ts'
import type { Platform } from './platform.ts'
import { Visitor } from './visitor.ts'

export type * from './calls.ts'
export type { Stats } from './client.ts'
export type { AnalyticsErrorCode, DeliveryErrorCode } from './errors.ts'
export { AnalyticsError, DeliveryError } from './errors.ts'
export type { AnalyticsOptions } from './options.ts'

/** Browsers let 64 KiB of keepalive requests outlive their page (Fetch Standard, "HTTP-network-or-cache fetch"). */
const MAX_KEEPALIVE_BYTES = 60_000

/** Options that only browsers have. */
export interface BrowserAnalyticsOptions extends AnalyticsOptions {
  /**
   * Remember the visitor: an anonymous id, and the user id of the last `identify`, so that calls need no identity. Kept in
   * `localStorage`, else in a cookie, else for as long as the page. Default: false.
   */
  remember?: boolean
  /** Make the page calls: for the page that is shown, and for each one that an app puts in its place. Needs `remember`. Default: false. */
  autoPage?: boolean
  /** Send and store nothing before `consent(true)`: until then, calls wait in memory. Default: false. */
  awaitConsent?: boolean
}

/**
 * Queues calls and sends them in the background. When the page is hidden or left, what waits is sent at once in
 * requests that outlive the page.
 * @throws AnalyticsError `invalid_option` naming the option
 */
export class Analytics<Events extends { [Name in keyof Events]: object } = AnyEvents> extends Client<
  Events,
  RememberedIdentity
> {
  readonly #visitor: Visitor | undefined
  /** Undefined until the visitor has answered. */
  #consent: boolean | undefined
  /** JSON of the calls that wait for consent, and its bytes. */
  #held: string[] = []
  #heldBytes = 0

  constructor(writeKey: string, options: BrowserAnalyticsOptions = {}) {
    const { remember = false, autoPage = false, awaitConsent = false, ...shared } = options
    const settings = readOptions(writeKey, shared)
    super(settings, createPlatform(`${settings.endpoint}/v1/batch`, writeKey, options.gzip === true))
    const waits = readFlag('awaitConsent', awaitConsent)
    this.#consent = waits ? undefined : true
    if (readFlag('remember', remember)) this.#visitor = new Visitor(!waits)
    else if (autoPage) throw invalid('remember', 'true where autoPage is')
    // Browsers that are still in use tell of a page being left as of one being hidden. Workers have no document.
    const onVisibility = () => {
      if (isHidden()) this.handOver()
    }
    globalThis.document?.addEventListener('visibilitychange', onVisibility, { signal: this.stopped })
    if (readFlag('autoPage', autoPage)) watchPages((properties) => this.page({ properties }), this.stopped)
  }

  /** Queues who someone is, which is remembered. Another user than before gets an anonymous id of their own. */
  override identify(call: IdentifyCall<RememberedIdentity>): string {
    this.#visitor?.meet(call?.userId)
    const messageId = super.identify(call)
    this.#visitor?.became(call.userId)
    return messageId
  }

  /** Forgets who the visitor is: at a logout. What waits is sent all the same. */
  reset(): void {
    this.#visitor?.forget()
  }

  /**
   * What the visitor answered. `true` stores what is to be remembered and sends what waited for the answer. `false` forgets
   * what is remembered, drops what waits or is under way, and lets later calls go nowhere.
   */
  consent(isGiven: boolean): void {
    if (readFlag('consent', isGiven) === this.#consent) return
    this.#consent = isGiven
    const held = this.#held
    this.#held = []
    this.#heldBytes = 0
    if (!isGiven) {
      this.#visitor?.withdraw()
      return this.discard()
    }
    const known = this.#visitor?.keep() ?? String
    for (const json of this.stopped.aborted ? [] : held.map(known)) {
      super.acceptMessage({ json, bytes: encoder.encode(json) })
    }
  }

  protected override completeCall(call: unknown): unknown {
    return this.#visitor && isObject(call) ? this.#visitor.completeCall(call) : call
  }

  protected override acceptMessage(message: QueuedMessage): void {
    if (this.#consent) return super.acceptMessage(message)
    if (this.#consent === false) return
    if (message.bytes.length > this.room - this.#heldBytes)
      return this.dropOverflow([JSON.parse(message.json) as Message])
    this.#held.push(message.json)
    this.#heldBytes += message.bytes.length
  }
}

function isHidden(): boolean {
  return globalThis.document?.visibilityState === 'hidden'
}

function createPlatform(url: string, writeKey: string, gzip: boolean): Platform {
  return {
    maxBatchBytes: MAX_KEEPALIVE_BYTES,
    debug: readDebug(),
    async post(batch, signal) {
      const body = batch.body(writeKey)
      // A page being left may not live to see its body compressed.
      const compress = gzip && 'CompressionStream' in globalThis && !isHidden()
      const response = await fetch(url, {
        method: 'POST',
        keepalive: true,
        credentials: 'omit',
        // Plain text with the write key in the body needs no preflight request, which a page being left may not get.
        headers: { 'Content-Type': 'text/plain', ...(compress && { 'Content-Encoding': 'gzip' }) },
        body: compress ? await compressed(body) : body,
        // Followed, a redirect would turn the POST into a GET and count as delivered.
        redirect: 'manual',
        signal,
      })
      const { status, headers } = response
      return { status, retryAfter: headers.get('retry-after'), text: await response.text() }
    },
  }
}

function compressed(body: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  return new Response(new Response(body).body?.pipeThrough(new CompressionStream('gzip'))).arrayBuffer()
}

function readDebug(): string {
  try {
    return localStorage.getItem('debug') ?? ''
  } catch {
    // Storage is forbidden here; so nobody can have asked for logging.
    return ''
  }
}
