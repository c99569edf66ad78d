/** The process that generates load: started before the clock runs, and used for any number of orders. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { LoadOrder, LoadResult } from './load.ts'

export interface LoadProcess {
  /** Resolves when the last answer is there. */
  run(order: LoadOrder): Promise<LoadResult>
  stop(): void
}

export async function startLoad(): Promise<LoadProcess> {
  const child = fork(new URL('./load.ts', import.meta.url))
  await once(child, 'message')
  return {
    async run(order) {
      child.send(order)
      const [result] = (await once(child, 'message')) as [LoadResult]
      return result
    },
    stop: () => child.disconnect(),
  }
}
