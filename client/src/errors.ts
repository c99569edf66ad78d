/** The two errors of this library: a wrong call, thrown at the call; and lost messages, handed to `onError`. */

import type { Message } from './calls.ts'

/** What was wrong with a call or an option. Stable; the text of an error is not. */
export type AnalyticsErrorCode =
  | 'id_required'
  | 'required'
  | 'wrong_type'
  | 'unknown_member'
  | 'not_serializable'
  | 'too_large'
  | 'too_deep'
  | 'invalid_option'
  | 'closed'

/** Thrown by the constructor and by calls, never in the background. Nothing was queued. */
export class AnalyticsError extends Error {
  override name = 'AnalyticsError'
  readonly code: AnalyticsErrorCode
  /** The member at fault, as in `properties.url`; undefined when no single member is (`closed`). */
  readonly member: string | undefined

  constructor(code: AnalyticsErrorCode, message: string, member?: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.member = member
  }
}

/**
 * Why messages were not delivered.
 * - `rejected`: the server took the batch but not these messages of it
 * - `refused`: the server refused the whole batch for good (for example an unknown write key)
 * - `gave_up`: every retry failed
 * - `kept`: as `refused` and `gave_up`, but the spool holds what waits, and it is tried again; reported once, until the server
 *   takes something
 * - `queue_full`: the queue was at `maxQueueBytes`; `overflow` says which messages were dropped
 * - `closed`: `close` ran out of time
 * - `spool_failed`: the disk refused; these messages are still being sent, but would not survive a crash
 */
export type DeliveryErrorCode = 'rejected' | 'refused' | 'gave_up' | 'kept' | 'queue_full' | 'closed' | 'spool_failed'

interface DeliveryErrorOptions extends ErrorOptions {
  status?: number | undefined
  reason?: string | undefined
}

/** Handed to `onError`: which messages did not arrive, and why. `kept` and `spool_failed` name none, as none is lost. */
export class DeliveryError extends Error {
  override name = 'DeliveryError'
  readonly code: DeliveryErrorCode
  /** The messages concerned, as they were queued. */
  readonly messages: readonly Message[]
  /** HTTP status of the last answer, if there was one. */
  readonly status: number | undefined
  /** The server's own code, as in `unknown_write_key`, if it named one. */
  readonly reason: string | undefined

  constructor(
    code: DeliveryErrorCode,
    message: string,
    messages: readonly Message[],
    options: DeliveryErrorOptions = {},
  ) {
    super(message, options)
    this.code = code
    this.messages = messages
    this.status = options.status
    this.reason = options.reason
  }
}
