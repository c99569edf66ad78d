/** Replays of what workflows did in a test. */

import { Worker, type ReplayHistoriesIterable } from '@temporalio/worker'
import { inject } from 'vitest'
import { testConverter } from './sealed-payloads.ts'

/** Replays histories with the code that the test's workers have.
 *  @returns of each that did not go as it went, its name and why */
export async function failedReplays(histories: ReplayHistoriesIterable): Promise<string[]> {
  const options = { workflowBundle: { codePath: inject('workflowBundle') }, dataConverter: testConverter }
  const failures: string[] = []
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories))
    if (error !== undefined) failures.push(`${workflowId}: ${error.message}`)
  return failures
}
