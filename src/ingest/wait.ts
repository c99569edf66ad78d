/** The wait for what the first attempt of an event becomes, which a caller may ask for. */

import ms from 'ms'
import { eventWorkflowId } from '../contracts/names.ts'
import { AppError } from '../errors.ts'
import type { FirstOutcome } from '../schemas/first-outcome.ts'
import type { TurnedAwayFate } from '../schemas/turned-away.ts'
import type { IngestPort } from './port.ts'
import type { Taken } from './take-events.ts'

/** Longest wait, in milliseconds. */
export const maxWaitMs = 10_000

/** Reads `?wait=3s`.
 *  @returns milliseconds
 *  @throws AppError that names it when it is no time, or too long a one */
export function readWait(given: unknown): number {
  const isTime = typeof given === 'string' && /^\d{1,5}(\.\d{1,3})?m?s$/.test(given)
  const waitMs = isTime ? ms(given as ms.StringValue) : 0
  if (waitMs > 0 && waitMs <= maxWaitMs) return waitMs
  throw new AppError('bad_request', 'wait must be a time of at most 10s, such as 3s or 500ms.', { path: 'wait' })
}

/** Refuses it where a call has several events: each has an outcome of its own. */
export function expectNoWait(given: unknown): void {
  if (given === undefined) return
  throw new AppError('bad_request', 'wait is for calls of one event: leave it out, or send the events one by one.', {
    path: 'wait',
  })
}

/** What became of the only event of a call.
 *  @returns null when that is not known: as many callers wait as a node lets, or what has it does not answer */
export async function outcomeOf(
  port: IngestPort,
  sourceId: string,
  { messageIds: [messageId = ''], turnedAway: [fate] }: Taken,
  waitMs: number,
  gone: AbortSignal,
): Promise<{ outcome: FirstOutcome | null }> {
  if (fate !== undefined) return withoutDelivery(fate)
  const outcome = await port.firstOutcome?.(eventWorkflowId(sourceId, messageId), waitMs, gone)
  return { outcome: outcome ?? null }
}

/** Of an event that became no delivery. */
export const withoutDelivery = (fate: TurnedAwayFate): { outcome: FirstOutcome } => ({
  outcome: { status: fate, deliveryId: null, attempts: null },
})
