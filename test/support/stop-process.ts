/** Stops processes for a while. */

import { readdir, readFile } from 'node:fs/promises'
import { until } from './wait.ts'

/** Sends SIGSTOP, and resolves when no thread of the process runs any more: on a busy machine some go on for a moment. */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  if (process.platform !== 'linux') return
  await until('the process stands still', async () => (await statesOf(pid)).every((state) => state === 'T'))
}

/** The states of its threads, each one letter. */
async function statesOf(pid: number): Promise<string[]> {
  const tasks = `/proc/${pid}/task`
  const stats = await Promise.all((await readdir(tasks)).map((id) => readFile(`${tasks}/${id}/stat`, 'utf8')))
  // The name before it may have brackets of its own.
  return stats.map((stat) => stat.slice(stat.lastIndexOf(')') + 2).charAt(0))
}
