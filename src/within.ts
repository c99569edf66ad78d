/** Does work for as long as a part that it asks is there; throws a PartAwayError when it is not. */
export type WhilePresent = <Result>(work: () => Promise<Result>) => Promise<Result>

/** Waits as long as it takes. */
export const withoutLimit: WhilePresent = (work) => work()

/** Waits for work, but not longer than a limit.
 *  @param limitMs  milliseconds
 *  @throws Error that names `who` when the work takes longer; it goes on all the same, and what it then fails with is
 *  dropped */
export async function within<Result>(limitMs: number, who: string, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${who} did not answer within ${limitMs} ms`)), limitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
