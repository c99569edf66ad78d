/** Runs a command-line tool and reads what it says, line by line. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

interface ToolOptions {
  env: NodeJS.ProcessEnv
  cwd: string
  /** Ends the tool: SIGINT, so that it clears up after itself, and SIGKILL when it takes too long over it. */
  signal: AbortSignal
  onLine: (line: string) => void
}

const killAfterMs = 15_000
const maxLastLineChars = 500

/**
 * Runs the tool to its end.
 * @returns its exit code (undefined when it could not be run or was ended) and the last line that it wrote
 */
export async function runTool(
  command: string,
  args: string[],
  { env, cwd, signal, onLine }: ToolOptions,
): Promise<{ code: number | undefined; lastLine: string }> {
  if (signal.aborted) return { code: undefined, lastLine: 'interrupted' }
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let lastLine = ''
  let killTimer: NodeJS.Timeout | undefined
  const end = () => {
    child.kill('SIGINT')
    killTimer = setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  }
  // An exit in the middle of it all must not leave the tool at work.
  const killNow = () => child.kill('SIGKILL')
  signal.addEventListener('abort', end, { once: true })
  process.once('exit', killNow)
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      if (line.trim() !== '') lastLine = line.trim().slice(0, maxLastLineChars)
      onLine(line)
    })
  }
  try {
    const code = await new Promise<number | undefined>((resolve) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        lastLine = error.code === 'ENOENT' ? `there is no ${command} on PATH` : error.message
        resolve(undefined)
      })
      // 'close' would also wait for grandchildren that keep the pipes open.
      child.once('exit', (exitCode) => setImmediate(() => resolve(exitCode ?? undefined)))
    })
    return { code, lastLine }
  } finally {
    clearTimeout(killTimer)
    signal.removeEventListener('abort', end)
    process.removeListener('exit', killNow)
    child.stdout.destroy()
    child.stderr.destroy()
  }
}
