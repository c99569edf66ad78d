/** Nodes that run one after the other on the same data: what one left when it was killed the next one finds. */

import { rm } from 'node:fs/promises'
import { onTestFinished } from 'vitest'
import { makeDataFolder } from './app.ts'
import { startNodeProcess, type NodeProcess } from './node-process.ts'
import { createNamespace } from './temporal.ts'

/** @param environment  of each of them
 *  @returns starts the next one; the test's end stops it */
export async function nodesOnOneFolder(environment: Record<string, string> = {}): Promise<() => Promise<NodeProcess>> {
  const [namespace, dataDir] = [await createNamespace(), await makeDataFolder()]
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  return async () => {
    const node = await startNodeProcess({ namespace, dataDir, environment })
    onTestFinished(() => node.stop())
    return node
  }
}
