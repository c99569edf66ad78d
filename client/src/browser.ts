/** The library in browsers. */

import type { AnyEvents } from './calls.ts'
import { Client } from './client.ts'
import type { AnalyticsOptions } from './options.ts'
import { readOptions } from './options.ts'
import type { Platform } from './platform.ts'

export type * from './calls.ts'
export type { Stats } from './client.ts'
export type { AnalyticsErrorCode, DeliveryErrorCode } from './errors.ts'
export { AnalyticsError, DeliveryError } from './errors.ts'
export type { AnalyticsOptions } from './options.ts'

/** Browsers let 64 KiB of keepalive requests outlive their page (Fetch Standard, "HTTP-network-or-cache fetch"). */
const MAX_KEEPALIVE_BYTES = 60_000

/**
 * Queues calls and sends them in the background. When the page is hidden or left, what waits is sent at once in
 * requests that outlive the page.
 * @throws AnalyticsError `invalid_option` naming the option
 */
export class Analytics<Events extends { [Name in keyof Events]: object } = AnyEvents> extends Client<Events> {
  constructor(writeKey: string, options: AnalyticsOptions = {}) {
    const settings = readOptions(writeKey, options)
    super(settings, createPlatform(`${settings.endpoint}/v1/batch`, writeKey, options.gzip === true))
    // Browsers that are still in use tell of a page being left as of one being hidden. Workers have no document.
    const onVisibility = () => {
      if (isHidden()) this.handOver()
    }
    globalThis.document?.addEventListener('visibilitychange', onVisibility, { signal: this.stopped })
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
