import type { Logger } from './logger.ts'

type CleanUp = () => unknown

/** What is to be undone when a node stops, or when its start fails half way: the last thing first. */
export interface CleanUps {
  /** Those that are added together do not need each other, and run side by side. */
  add(...cleanUps: CleanUp[]): void
  /** Runs all of them once; one that fails is logged and does not keep the others from running. */
  run(): Promise<void>
}

export function createCleanUps(logger: Logger): CleanUps {
  const steps: CleanUp[][] = []
  const runOne = async (cleanUp: CleanUp): Promise<void> => {
    try {
      await cleanUp()
    } catch (error) {
      logger.error({ error: (error as Error).message }, 'node.stop_failed')
    }
  }
  return {
    add: (...cleanUps) => steps.push(cleanUps),
    async run() {
      for (const step of steps.splice(0).reverse()) await Promise.all(step.map(runOne))
    },
  }
}
