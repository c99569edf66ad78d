/** Memory of an idle node and its server, after the first start and the second; and how long the starts take. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from '../support/figures.ts'
import { pssMb } from '../support/memory.ts'
import { startNode } from '../support/node.ts'

const mostMb = 450
const starts = [
  { name: 'first start', mostSeconds: 10 },
  { name: 'second start', mostSeconds: 5 },
]

/** @param idleSeconds  from the start to the measurement; JavaScript's engine gives back within 45 s what a start leaves */
export async function measureMemory(report: Report, idleSeconds: number): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-bench-'))
  try {
    for (const { name, mostSeconds } of starts) {
      const begun = performance.now()
      const node = await startNode({}, dataDir)
      report.add(`${name}, until all is ready`, (performance.now() - begun) / 1_000, 's', { most: mostSeconds })
      await sleep(idleSeconds * 1_000)
      const server = await node.temporalPid()
      // The server is a child of the node.
      const both = await pssMb([node.process.pid ?? 0])
      report.add(`${name}, the server's share`, await pssMb([server]), 'MB')
      report.add(`${name}, idle node and server`, both, 'MB', { most: mostMb })
      await node.stop()
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}
