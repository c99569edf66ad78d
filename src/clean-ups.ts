import type { Logger } from './logger.ts'

/** What is to be undone when a node stops, or when its start fails half way: the last thing first. */
export interface CleanUps {
  add(cleanUp: () => unknown): void
  /** Runs all of them once; one that fails is logged and does not keep the others from running. */
  run(): Promise<void>
}

export function createCleanUps(logger: Logger): CleanUps {
  const cleanUps: (() => unknown)[] = []
  return {
    add: (cleanUp) => cleanUps.push(cleanUp),
    async run() {
      for (const cleanUp of cleanUps.splice(0).reverse()) {
        try {
          await cleanUp()
        } catch (error) {
          logger.error({ error: (error as Error).message }, 'stop.failed')
        }
      }
    },
  }
}
