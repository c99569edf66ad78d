import { within } from '../within.ts'
import type { Temporal } from './connection.ts'

/** How much longer than its caller waits a call may take, in milliseconds. */
const graceMs = 10_000

/** Waits for calls that only read, but not longer than `limitMs`. They go on for a while after that: a server passes the
 *  deadline of a call on to its database, and the SQLite of the embedded one, when a query is interrupted at the wrong moment,
 *  interrupts all that follow.
 *  @throws Error when they take longer */
export const answerWithin = <Result>(
  { connection }: Pick<Temporal, 'connection'>,
  limitMs: number,
  call: () => Promise<Result>,
): Promise<Result> => within(limitMs, 'Temporal', connection.withDeadline(Date.now() + limitMs + graceMs, call))
