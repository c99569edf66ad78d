/** A node in a process of its own with its own embedded Temporal, so that a test can stop or kill either. */

import { delimiter, dirname } from 'node:path'
import { inject } from 'vitest'
import { findFreePorts } from '../../src/ports.ts'
import { isRunning } from '../../src/process-identity.ts'
import { endOrphan } from '../../src/temporal/embedded-server.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { startNodeProcess, type NodeProcess } from './node-process.ts'
import { until } from './wait.ts'

export interface EmbeddedNode extends NodeProcess {
  /** Process id of the Temporal server beside it. */
  temporalPid(): Promise<number>
}

/** Starts a node and its Temporal server. `kill` leaves the server alone; `stop` ends it whatever state it is in.
 *  @param dataDir  stays when the node ends, so that the next one finds what this one left
 *  @param settings  beside those of a test; with a `PORT`, the next node can be found where this one was */
export async function startEmbeddedNode(dataDir: string, settings: Record<string, string> = {}): Promise<EmbeddedNode> {
  const [temporalPort, uiPort] = await findFreePorts('127.0.0.1', 2)
  const node = await startNodeProcess({
    namespace: '',
    dataDir,
    environment: {
      PATH: [dirname(inject('temporalCli')), process.env['PATH']].join(delimiter),
      TEMPORAL_ADDRESS: '',
      POSTRIDER_TEMPORAL_PORT: String(temporalPort),
      POSTRIDER_TEMPORAL_UI_PORT: String(uiPort),
      POSTRIDER_QUICKSTART_PORT: '0',
      ...settings,
    },
  })
  return {
    ...node,
    async temporalPid() {
      const note = await until('the Temporal server runs', async () => {
        const found = await readNote(dataDir)
        return found !== undefined && isRunning(found) && found
      })
      return note.pid
    },
    async stop() {
      await node.stop()
      await endOrphan(dataDir)
    },
  }
}
