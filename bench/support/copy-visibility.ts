/** Fills the visibility of an embedded server that is stopped, in its database file. Starting so many workflows would
 *  take a quarter of an hour; lists and counts read nothing but these rows. Needs the `sqlite3` command. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/** Columns of a copy that differ from those of its template; `n` counts the copies of one template. */
const changed: Record<string, string> = {
  run_id: `printf('%08x', n) || substr(run_id, 9)`,
  root_run_id: `printf('%08x', n) || substr(root_run_id, 9)`,
  workflow_id: renamed('workflow_id'),
  root_workflow_id: renamed('root_workflow_id'),
  search_attributes: renamed('search_attributes'),
  start_time: earlier('start_time'),
  execution_time: earlier('execution_time'),
  close_time: earlier('close_time'),
}

export interface CopyOptions {
  /** The server's database. */
  file: string
  /** Copies of each delivery whose ids have `template-` in them. */
  copies: number
  /** The time over which they are spread, up to now, in seconds. */
  spreadSeconds: number
}

/** Copies deliveries with ids, users and times of their own. */
export async function copyVisibility({ file, copies, spreadSeconds }: CopyOptions): Promise<void> {
  const columns = (await sqlite(file, `select name from pragma_table_info('executions_visibility');`)).split('\n')
  const step = spreadSeconds / copies
  await sqlite(
    file,
    `pragma synchronous = off;
     pragma cache_size = -400000;
     with recursive counted(n, step) as (
       select 1, ${step} union all select n + 1, step from counted where n < ${copies}
     )
     insert into executions_visibility (${columns.join(', ')})
     select ${columns.map((name) => changed[name] ?? name).join(', ')}
     from counted, executions_visibility
     where workflow_type_name = 'deliverEvent' and workflow_id like '%/template-%';`,
  )
}

function renamed(column: string): string {
  return `replace(${column}, 'template-', 'copy-' || n || '-')`
}

/** Copies of one template lie a step apart; those of different templates lie anywhere in the step. */
function earlier(column: string): string {
  const seconds = `-((n - 1) * step + (executions_visibility.rowid % 100) / 100.0 * step)`
  return `strftime('%Y-%m-%d %H:%M:%f+00:00', ${column}, ${seconds} || ' seconds')`
}

/** @throws Error when the command is missing or fails */
async function sqlite(file: string, sql: string): Promise<string> {
  const child = spawn('sqlite3', ['-bail', file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  child.stdin.end(sql)
  const [output] = await Promise.all([text(child.stdout), ended])
  if (child.exitCode !== 0) throw new Error(`sqlite3 ended with status ${child.exitCode}`)
  return output.trim()
}
