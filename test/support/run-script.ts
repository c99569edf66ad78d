/** Runs a piece of code that imports our modules as a process of its own, so that a test can kill it. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'
import { onTestFinished } from 'vitest'

export interface ScriptProcess {
  readonly pid: number
  /** The first line of its output that matches, also of those already seen. @throws Error when it ends without one */
  line(match: string | RegExp): Promise<string>
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>
  /** Resolves with the exit code, or null when a signal ended it. */
  readonly exited: Promise<number | null>
}

/** Where relative imports of scripts start from. */
const scriptFolder = resolve(import.meta.dirname, '..')

/** Runs a command as process 1 of a PID namespace; other users than root need a user namespace for it. */
const inContainer = [
  'unshare',
  ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']),
  ...['--pid', '--fork', '--mount-proc', '--kill-child'],
]

/**
 * Starts the script: an ES module in JavaScript, with imports relative to `test/`. `process.argv[2]` is the first of
 * `args`. It is killed when the test that runs is over.
 * @param group  put it at the head of a process group of its own, as a shell does with a job
 * @param container  give it process ids of its own, as a container has them; `pid` is then that of a wrapper
 */
export function runScript(source: string, args: string[], { group = false, container = false } = {}): ScriptProcess {
  const [command = process.execPath, ...wrapped] = container ? [...inContainer, process.execPath] : []
  const child = spawn(
    command,
    [...wrapped, '--import', 'tsx', '--input-type=module', '-e', source, 'script', ...args],
    {
      cwd: scriptFolder,
      detached: group,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const seen: string[] = []
  const waiting = new Set<() => void>()
  const notify = () => waiting.forEach((check) => check())
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      seen.push(line)
      notify()
    })
  }
  let ended = false
  const exited = once(child, 'close').then(([code]) => {
    ended = true
    notify()
    return code as number | null
  })
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  return {
    pid: child.pid ?? 0,
    exited,
    line: (match) =>
      new Promise((resolveLine, reject) => {
        const check = () => {
          const found = seen.find((line) => (typeof match === 'string' ? line.includes(match) : match.test(line)))
          if (found === undefined && !ended) return
          waiting.delete(check)
          if (found === undefined) reject(new Error(`the script ended without a line ${match}:\n${seen.join('\n')}`))
          else resolveLine(found)
        }
        waiting.add(check)
        check()
      }),
    kill,
  }
}
