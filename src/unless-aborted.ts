/** Waits for `work`, but no longer than until `signal` aborts: the work may go on all the same.
 *  @throws the signal's reason */
export function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Does work that ends itself after `limitMs` milliseconds, or when `signal` aborts. Not by `AbortSignal.timeout`: the garbage collector of
 *  Node 20 takes a timeout that only `AbortSignal.any` knows, and it never ends. */
export async function endingAfter<Result>(
  limitMs: number,
  signal: AbortSignal,
  work: (end: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), limitMs)
  try {
    return await work(AbortSignal.any([late.signal, signal]))
  } finally {
    clearTimeout(timer)
  }
}
