/** Writes what gathers in memory, now and then. */

export interface GatheredWrites {
  /** Resolves when what gathered before the call is written. */
  written: () => Promise<void>
  /** Writes no more, when what is being written is through. */
  end(): Promise<void>
}

/** @param write  takes what gathered and writes it; a failure is its own to tell. It is never called twice at a time: a database that
 *  hangs gets no second statement
 *  @param pauseMs  between two calls, in milliseconds */
export function writeGathered(write: () => Promise<void>, pauseMs: number): GatheredWrites {
  let writing: Promise<void> | undefined
  const writeOnce = (): Promise<void> => (writing ??= write().finally(() => (writing = undefined)))
  const timer = setInterval(() => void writeOnce(), pauseMs).unref()
  return {
    async written() {
      await writing
      await writeOnce()
    },
    async end() {
      clearInterval(timer)
      await writing
    },
  }
}
