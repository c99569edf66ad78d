/** Which batches stay in the spool although the server refuses them. */

import { DeliveryError } from './errors.ts'
import type { Answer, Platform } from './platform.ts'

/** Statuses that judge what was sent. All others that refuse judge who sent it, where to, or what is between: a write key
 *  that is changed, a server that is being replaced. That passes. */
const OF_THE_BATCH = [400, 413, 415, 422]

export interface Keeping {
  keeps: NonNullable<Platform['keeps']>
  /** To be called with each answer of the server. */
  answered(answer: Answer): void
}

/** @param onError  called once when the server takes nothing, and again when it does so after it had taken something */
export function createKeeping(onError: (error: DeliveryError) => void): Keeping {
  let isTold = false
  return {
    keeps({ file }, { status, message, reason }, waiting) {
      if (!file?.complete || file.isExpired || OF_THE_BATCH.includes(status ?? 0)) return false
      if (!isTold) onError(new DeliveryError('kept', `${message}; the spool keeps what waits`, [], { status, reason }))
      isTold = true
      // Nobody who waits for a flush need wait until the server takes it.
      for (const batch of waiting) if (batch.file?.complete) batch.finish()
      return true
    },
    answered({ status }) {
      if (status < 300) isTold = false
    },
  }
}
