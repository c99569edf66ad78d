/** The options that every platform has, their defaults and their check. */

import type { DeliveryError } from './errors.ts'
import { AnalyticsError } from './errors.ts'

/** Options of `new Analytics(writeKey, options)`. */
export interface AnalyticsOptions {
  /** Base address of the server; `/v1/batch` or `/v1/import` at its end does not count. Default: `http://127.0.0.1:8080`. */
  endpoint?: string
  /** Waiting messages that start a flush; 1 sends each call at once. Default: 20. */
  flushAt?: number
  /** The same as `flushAt`, under its older name; if both are given, the smaller counts. */
  size?: number
  /** Milliseconds since the last flush after which what waits is sent. Default: 5,000. */
  flushAfter?: number
  /** JSON bytes that may wait or be under way; beyond it messages are dropped. Default: 64,000,000. */
  maxQueueBytes?: number
  /**
   * What a full queue drops. `drop-newest`: the message of the call. `drop-oldest`: the batch that has waited longest, at
   * most a sixteenth of the queue or one message. Default: `drop-newest`.
   */
  overflow?: 'drop-newest' | 'drop-oldest'
  /** Further attempts for a batch whose first one failed. Default: 50, which is 4 to 8 minutes. */
  maxRetries?: number
  /** Milliseconds that one request may take. Default: 10,000. */
  requestTimeoutMs?: number
  /** Compress requests. Default: true; in browsers false, as a compressed request costs a preflight. */
  gzip?: boolean
  /** Called with the messages that were not delivered. Default: one line to the console. */
  onError?: (error: DeliveryError) => void
}

export type Settings = Readonly<Required<Omit<AnalyticsOptions, 'size'>>>

const DEFAULT_FLUSH_AT = 20
/** Longest pause that timers can hold, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1

const defaults: Required<AnalyticsOptions> = {
  endpoint: 'http://127.0.0.1:8080',
  flushAt: DEFAULT_FLUSH_AT,
  size: DEFAULT_FLUSH_AT,
  flushAfter: 5_000,
  maxQueueBytes: 64_000_000,
  overflow: 'drop-newest',
  maxRetries: 50,
  requestTimeoutMs: 10_000,
  gzip: true,
  onError: printError,
}

/**
 * Options with their defaults; those that are null or undefined count as absent.
 * @throws AnalyticsError `invalid_option` naming the option that is unknown or out of range
 */
export function readOptions(writeKey: unknown, options: AnalyticsOptions): Settings {
  // A colon would end the user name of Basic authentication (RFC 7617).
  if (typeof writeKey !== 'string' || !/^[!-9;-~]{1,200}$/.test(writeKey)) {
    throw invalid('writeKey', '1 to 200 ASCII characters without colons')
  }
  const settings = { ...defaults }
  for (const [option, value] of Object.entries(options as Record<string, unknown>)) {
    if (!Object.hasOwn(defaults, option)) throw invalid(option, 'absent')
    const expected: unknown = defaults[option as keyof AnalyticsOptions]
    if (value === undefined || value === null) continue
    if (typeof value !== typeof expected) throw invalid(option, `a ${typeof expected}`)
    if (typeof value === 'number') readNumber(option, value)
    Object.assign(settings, { [option]: value })
  }
  const { overflow, endpoint, onError } = settings
  if (overflow !== 'drop-newest' && overflow !== 'drop-oldest') throw invalid('overflow', 'drop-newest or drop-oldest')
  return {
    ...settings,
    endpoint: readEndpoint(endpoint),
    flushAt: Math.min(options.flushAt ?? settings.size, options.size ?? settings.flushAt),
    onError: guard(onError),
  }
}

/** @throws AnalyticsError `invalid_option` unless `value` is true or false */
export function readFlag(option: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalid(option, 'a boolean')
  return value
}

/** @throws AnalyticsError `invalid_option` unless `value` is a string that is not empty */
export function readText(option: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw invalid(option, 'a string that is not empty')
  return value
}

/** A handler's own faults go to the console: they must neither stop a delivery nor become an unhandled rejection. */
function guard(onError: (error: DeliveryError) => unknown): (error: DeliveryError) => void {
  const call = async (error: DeliveryError) => onError(error)
  return (error) => void call(error).catch(console.error)
}

function printError(error: DeliveryError): void {
  console.error(`${error.name} ${error.code}: ${error.message} (${error.messages.length} messages)`)
}

function readEndpoint(value: string): string {
  let href = ''
  try {
    href = new URL(value).href
  } catch {
    // Falls through to the one complaint below.
  }
  if (!/^https?:\/\/[^/@]+\/[^?#]*$/.test(href)) {
    throw invalid('endpoint', 'an http or https address without user, query and fragment')
  }
  // Other libraries of this protocol take the address of the call itself.
  return href.replace(/(\/+v1\/+(batch|import))?\/*$/, '')
}

/** @throws AnalyticsError `invalid_option` unless `value` is a whole number in the option's range */
export function readNumber(option: string, value: number): number {
  const min = option === 'maxRetries' ? 0 : 1
  const max = option === 'flushAfter' || option === 'requestTimeoutMs' ? MAX_TIMER_MS : Number.MAX_SAFE_INTEGER
  if (!Number.isInteger(value) || value < min || value > max) {
    throw invalid(option, `a whole number from ${min} to ${max}`)
  }
  return value
}

/** The error for an option that is not as it must be. */
export function invalid(option: string, expected: string): AnalyticsError {
  return new AnalyticsError('invalid_option', `${option} must be ${expected}`, option)
}
