/** The pause of a loop that can be woken before its time. */

export interface Pause {
  /** Waits; not at all when it was woken since the last time. */
  wait(ms: number): Promise<void>
  /** There is something to do. */
  wake: () => void
}

export function createPause(): Pause {
  let woken = false
  let endWait = (): void => {}
  return {
    async wait(ms) {
      if (!woken)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          endWait = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      woken = false
    },
    wake() {
      woken = true
      endWait()
    },
  }
}
