/** What one process can post at most: as many signed requests as a first sync, made before the clock starts, with undici
 *  alone. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { concurrency } from '../../activities/audience-sending.ts'

/** As many in flight as a sync has. @returns calls a second */
export async function measureBareLoop(url: string, count: number): Promise<number> {
  const program = join(import.meta.dirname, 'bare-loop-process.ts')
  const args = ['--import', 'tsx', program, url, String(count), String(concurrency)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await once(child, 'close')
  return Number(output)
}
