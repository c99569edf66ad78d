/** The node of a night, which is killed and comes back where it was, with what its data folder has. */

import { rm } from 'node:fs/promises'
import { onTestFinished } from 'vitest'
import { findFreePorts } from '../../../src/ports.ts'
import { startEmbeddedNode, type EmbeddedNode } from '../../support/embedded-node.ts'
import { makeDataFolder } from '../../support/app.ts'

export interface House {
  /** The node as it runs now. */
  node(): EmbeddedNode
  /** Kills the node hard; its Temporal server goes on. */
  killNode(): Promise<void>
  /** @param settings  what is other than before */
  startNode(settings: Record<string, string>): Promise<void>
  /** Kills the Temporal server hard; the node starts another one. */
  killTemporal(): Promise<void>
}

/** Gone when the test is over. */
export async function openHouse(settings: Record<string, string>): Promise<House> {
  const dataDir = await makeDataFolder()
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const [port, temporalPort, uiPort] = (await findFreePorts('127.0.0.1', 3)).map(String)
  const environment = {
    ...settings,
    PORT: port ?? '',
    POSTRIDER_TEMPORAL_PORT: temporalPort ?? '',
    POSTRIDER_TEMPORAL_UI_PORT: uiPort ?? '',
  }
  const start = async (changed: Record<string, string> = {}): Promise<EmbeddedNode> => {
    const started = await startEmbeddedNode(dataDir, { ...environment, ...changed })
    onTestFinished(() => started.stop())
    return started
  }
  let node = await start()
  return {
    node: () => node,
    killNode: () => node.kill(),
    async startNode(changed) {
      node = await start(changed)
    },
    async killTemporal() {
      process.kill(await node.temporalPid(), 'SIGKILL')
    },
  }
}
