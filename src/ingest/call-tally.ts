/** What is kept of a call that is refused or dropped as a whole: how many events, of whom, and why. */

import { AppError } from '../errors.ts'
import type { EventType } from '../schemas/message.ts'
import type { IngestPort } from './port.ts'
import { turnAway } from './turn-away.ts'

/** Whose events a call brings and how many, as far as that is known yet. */
export interface CallTally {
  sourceId: string | undefined
  events: number
  /** A single call as it was sent, and what its path says it is; undefined of a batch: one that is refused as a whole is an event of which
   *  nothing is known. */
  call?: { body: unknown; type: EventType }
}

/** Handles a call, and counts and keeps its events when it is refused.
 *  @param handle  writes into the tally what it learns
 *  @throws what `handle` throws */
export async function countingRefusals<Answer>(
  port: IngestPort,
  receivedAt: Date,
  handle: (tally: CallTally) => Promise<Answer>,
): Promise<Answer> {
  const tally: CallTally = { sourceId: undefined, events: 1 }
  try {
    return await handle(tally)
  } catch (error) {
    const fault = error instanceof AppError ? error : new AppError('internal_error', 'Something went wrong here.')
    turnCallAway(port, tally, 'rejected', fault, receivedAt)
    throw error
  }
}

/** Counts the events of a call, and keeps the call itself when its source is known.
 *  @param fault  why it becomes no delivery */
export function turnCallAway(
  port: IngestPort,
  { sourceId, events, call }: CallTally,
  fate: 'rejected' | 'dropped',
  { code: reason, message }: AppError,
  receivedAt: Date,
): void {
  port.count(fate, sourceId, events, reason)
  if (sourceId === undefined) return
  turnAway(port, sourceId, { event: call?.body, type: call?.type, fate, receivedAt, reason, message })
}
