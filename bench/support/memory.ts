import { readdir, readFile } from 'node:fs/promises'

/** Memory of processes and all of their children, in MB: what they share with others counts in proportion (PSS), from Linux's `/proc`. */
export async function pssMb(pids: readonly number[]): Promise<number> {
  const all = new Set(await withChildren(pids))
  const each = await Promise.all(
    [...all].map(async (pid) => {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
      return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / 1_024
    }),
  )
  return each.reduce((sum, mb) => sum + mb, 0)
}

async function withChildren(pids: readonly number[]): Promise<number[]> {
  const families = await Promise.all(
    pids.map(async (pid) => {
      const threads = await readdir(`/proc/${pid}/task`)
      const children = await Promise.all(threads.map((id) => readFile(`/proc/${pid}/task/${id}/children`, 'utf8')))
      return [pid, ...(await withChildren(children.join(' ').split(/\s+/).filter(Boolean).map(Number)))]
    }),
  )
  return families.flat()
}
