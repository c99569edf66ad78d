/** The library in Node, Deno and Bun. */

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Batch } from './batch.ts'
import type { AnyEvents } from './calls.ts'
import { Client } from './client.ts'
import { openConnection } from './connection.ts'
import { DeliveryError } from './errors.ts'
import { addExitHooks } from './exit-hooks.ts'
import { encoder, MAX_BATCH_BYTES } from './limits.ts'
import type { AnalyticsOptions, Settings } from './options.ts'
import { readFlag, readOptions, readText } from './options.ts'
import type { Platform } from './platform.ts'
import { unref } from './retry.ts'
import { Spool } from './spool.ts'

export type * from './calls.ts'
export type { Stats } from './client.ts'
export type { AnalyticsErrorCode, DeliveryErrorCode } from './errors.ts'
export { AnalyticsError, DeliveryError } from './errors.ts'
export type { AnalyticsOptions } from './options.ts'

declare const PACKAGE_VERSION: string

/** Below this many bytes compression costs more than it saves. */
const MIN_GZIP_BYTES = 1_000
/** The quickest level: event data get 15 % larger than at the default one, in half the time. */
const GZIP_LEVEL = 1

/** How often to look for what other processes left behind, in milliseconds. */
const RECOVER_EVERY_MS = 30_000

/** Options that only Node, Deno and Bun have. */
export interface NodeAnalyticsOptions extends AnalyticsOptions {
  /** A folder in which queued messages survive a crash of the process; the next one sends them. Default: none. */
  spoolDir?: string
  /** On SIGINT and SIGTERM, flush for up to 10 s and then let the signal end the process. Default: false. */
  flushOnSignals?: boolean
}

/**
 * Queues calls and sends them in the background. A program may simply end: what waits is sent first, for up to 10 s.
 * @throws AnalyticsError `invalid_option` naming the option
 */
export class Analytics<Events extends { [Name in keyof Events]: object } = AnyEvents> extends Client<Events> {
  readonly #removeHooks: () => void
  readonly #recoverTimer: NodeJS.Timeout | undefined

  constructor(writeKey: string, options: NodeAnalyticsOptions = {}) {
    const { spoolDir, flushOnSignals = false, ...shared } = options
    const settings = readOptions(writeKey, shared)
    const store = spoolDir === undefined ? undefined : openSpool(readText('spoolDir', spoolDir), writeKey, settings)
    super(settings, createPlatform(writeKey, settings, store))
    this.#removeHooks = addExitHooks(this, () => this.abandon(), readFlag('flushOnSignals', flushOnSignals))
    if (!store) return
    this.#recover(store)
    this.#recoverTimer = unref(setInterval(() => this.#recover(store), RECOVER_EVERY_MS))
  }

  override async close(options?: { timeoutMs?: number }): Promise<void> {
    clearInterval(this.#recoverTimer)
    await super.close(options)
    this.#removeHooks()
  }

  /** Queues and sends what ended processes left in the store, as far as there is room. */
  #recover(store: Spool): void {
    for (const { file, messages } of store.recover(this.room)) {
      const batch = new Batch(file)
      for (const json of messages) batch.add(encoder.encode(json))
      this.addBatch(batch)
    }
  }
}

const compress = promisify(gzip)

function createPlatform(writeKey: string, settings: Settings, store: Spool | undefined): Platform {
  const headers = {
    Authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
    'Content-Type': 'application/json',
    'User-Agent': `postrider-analytics/${PACKAGE_VERSION}`,
  }
  const connection = openConnection(`${settings.endpoint}/v1/batch`)
  return {
    maxBatchBytes: MAX_BATCH_BYTES,
    debug: process.env.DEBUG ?? '',
    async post(batch, signal) {
      const body = batch.body()
      if (!settings.gzip || body.length < MIN_GZIP_BYTES) return connection.post(headers, body, signal)
      const zipped = await compress(body, { level: GZIP_LEVEL })
      return connection.post({ ...headers, 'Content-Encoding': 'gzip' }, zipped, signal)
    },
    store,
    close() {
      store?.release()
      connection.close()
    },
  }
}

function openSpool(dir: string, writeKey: string, { endpoint, onError }: Settings): Spool {
  return new Spool(dir, [endpoint, writeKey], (cause) => {
    onError(new DeliveryError('spool_failed', `the spool cannot be written: ${cause.message}`, [], { cause }))
  })
}
