/** The library in Node, Deno and Bun. */

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Batch } from './batch.ts'
import type { AnyEvents, Message } from './calls.ts'
import { Client } from './client.ts'
import { openConnection } from './connection.ts'
import { DeliveryError } from './errors.ts'
import { addExitHooks } from './exit-hooks.ts'
import { createKeeping } from './keeping.ts'
import { encoder, MAX_BATCH_BYTES } from './limits.ts'
import type { AnalyticsOptions, Settings } from './options.ts'
import { readFlag, readNumber, readOptions, readText } from './options.ts'
import type { Platform } from './platform.ts'
import { unref } from './retry.ts'
import { halveBatch } from './halve-batch.ts'
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

const DEFAULT_SPOOL_MAX_AGE_MS = 7 * 24 * 3_600_000

/** How often to look for what other processes left behind, in milliseconds. */
const RECOVER_EVERY_MS = 30_000

/** Options that only Node, Deno and Bun have. */
export interface NodeAnalyticsOptions extends AnalyticsOptions {
  /** A folder in which queued messages survive a crash of the process; the next one sends them. Default: none. */
  spoolDir?: string
  /** Milliseconds that the spool keeps what the server does not take. Default: 604,800,000, which is 7 days. */
  spoolMaxAgeMs?: number
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
    const { spoolDir, spoolMaxAgeMs = DEFAULT_SPOOL_MAX_AGE_MS, flushOnSignals = false, ...shared } = options
    const settings = readOptions(writeKey, shared)
    const maxAgeMs = readNumber('spoolMaxAgeMs', spoolMaxAgeMs)
    const dir = spoolDir === undefined ? undefined : readText('spoolDir', spoolDir)
    const store = dir === undefined ? undefined : openSpool(dir, writeKey, maxAgeMs, settings)
    super(settings, createPlatform(writeKey, settings, store))
    this.#removeHooks = addExitHooks(this, () => this.abandon(), readFlag('flushOnSignals', flushOnSignals))
    if (!store) return
    const lookAround = () => {
      this.#recover(store)
      for (const messages of store.removeOutdated()) tellOfOutdated(messages, settings)
    }
    lookAround()
    this.#recoverTimer = unref(setInterval(lookAround, RECOVER_EVERY_MS))
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
  const keeping = createKeeping(settings.onError)
  const send = async (batch: Batch, signal: AbortSignal) => {
    const body = batch.body()
    if (!settings.gzip || body.length < MIN_GZIP_BYTES) return connection.post(headers, body, signal)
    const zipped = await compress(body, { level: GZIP_LEVEL })
    return connection.post({ ...headers, 'Content-Encoding': 'gzip' }, zipped, signal)
  }
  return {
    maxBatchBytes: MAX_BATCH_BYTES,
    debug: process.env.DEBUG ?? '',
    async post(batch, signal) {
      const answer = await send(batch, signal)
      keeping.answered(answer)
      return answer
    },
    store,
    keeps: keeping.keeps,
    halve: halveBatch,
    close() {
      store?.release()
      connection.close()
    },
  }
}

function openSpool(dir: string, writeKey: string, maxAgeMs: number, { endpoint, onError }: Settings): Spool {
  return new Spool(dir, [endpoint, writeKey], maxAgeMs, (cause) => {
    onError(new DeliveryError('spool_failed', `the spool cannot be written: ${cause.message}`, [], { cause }))
  })
}

function tellOfOutdated(messages: string[], { onError }: Settings): void {
  const lost = messages.map((json) => JSON.parse(json) as Message)
  onError(new DeliveryError('gave_up', 'spooled with another endpoint or write key, and too old', lost))
}
