/** A point that several ways pass together. */

/** Local activities that end one after the other end all at once in a replay. Ways that wait for each other behind them do what follows in the
 *  same order both times.
 *  @param ways  how many there are
 *  @returns to be awaited once on each way; resolves when all have come, in the order in which they came */
export function createMeeting(ways: number): () => Promise<void> {
  let missing = ways
  let open: () => void
  const all = new Promise<void>((resolve) => (open = resolve))
  return () => {
    if (--missing === 0) open()
    return all
  }
}
