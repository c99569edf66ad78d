import { readFile } from 'node:fs/promises'

/** Linux counts in ticks of 10 ms. */
const msPerTick = 10

/** Processor time that processes have used so far, in milliseconds, from Linux's `/proc`. */
export async function processorMs(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
      const [, ...fields] = stat.slice(stat.lastIndexOf(')')).split(' ')
      return (Number(fields[11]) + Number(fields[12])) * msPerTick
    }),
  )
  return each.reduce((sum, ms) => sum + ms, 0)
}
