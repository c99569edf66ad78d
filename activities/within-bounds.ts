/** Calls of a sync that pass the gate, where bounds are set for their endpoint: these hold for events and for syncs together. */

import { setTimeout as sleep } from 'node:timers/promises'
import { gatedEndpoint, type Gate } from '../src/delivery/gate.ts'
import { attemptResult } from '../src/delivery/outcome.ts'
import { SendAbortedError, type SendOutcome } from '../src/delivery/send.ts'
import { isBounded } from '../src/delivery/set-bounds.ts'

/** A call that waits for its place asks again after so long at most, in milliseconds, and finds out whether its sync has stopped. */
const longestPauseMs = 500

export interface BoundedCall {
  gate: Pick<Gate, 'admit' | 'closedSince'>
  endpoint: Parameters<typeof gatedEndpoint>[0]
  /** Whether the sync goes on. */
  goesOn: () => boolean
  send: () => Promise<SendOutcome>
}

/** Sends at once where no bounds are set, and otherwise when they let it go. An endpoint that is down is unavailable, but for probes.
 *  @throws SendAbortedError when the sync stops before that */
export function sendWithinBounds({ gate, endpoint, goesOn, send }: BoundedCall): Promise<SendOutcome> {
  const gated = gatedEndpoint(endpoint)
  return isBounded(gated) ? sendInTurn() : send()

  async function sendInTurn(): Promise<SendOutcome> {
    while (goesOn()) {
      // Events need not wait for the calls of a sync that wait.
      const admission = await gate.admit(gated, 'retry', { attempts: 0 })
      if (admission.kind === 'go') return leaveWith(admission.leave, send)
      const { inMs, reason } = admission
      if (gate.closedSince(endpoint.id) !== undefined)
        return { kind: 'unavailable', code: 'saturated', reason, durationMs: 0 }
      await sleep(Math.min(inMs, longestPauseMs))
    }
    throw new SendAbortedError(false)
  }
}

async function leaveWith(
  leave: (result: ReturnType<typeof attemptResult>) => void,
  send: () => Promise<SendOutcome>,
): Promise<SendOutcome> {
  let result: ReturnType<typeof attemptResult> = 'unused'
  try {
    const outcome = await send()
    result = attemptResult(outcome)
    return outcome
  } finally {
    leave(result)
  }
}
