import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../errors.ts'
import { databaseFailure } from './failure.ts'

/** Between two tries, in milliseconds. */
const retryPauseMs = 1_000

export interface WaitForDatabase {
  /** Ends the waiting. */
  signal: AbortSignal
  /** Told each time why it is away. */
  onAway?: (reason: string) => void
}

/** Does something that a start needs the database for; one that is away is waited for.
 *  @param work  begun anew as a whole
 *  @throws what `work` throws for another reason; the signal's reason */
export async function onceThere<Result>(
  work: () => Promise<Result>,
  { signal, onAway }: WaitForDatabase,
): Promise<Result> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      const { isAway, message } = databaseFailure(error)
      if (error instanceof StartError || !isAway) throw error
      onAway?.(message)
      await sleep(retryPauseMs, undefined, { signal })
    }
  }
}
