/** A node as its users start it: the built program in a process group of its own, to be killed or told to stop. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { commandInTest } from './built-command.ts'
import { until } from './wait.ts'

/** A loaded machine may take long; an idle one takes 3 seconds. */
const readyLimitMs = 90_000

export interface Program extends AsyncDisposable {
  pid: number
  /** All of standard output, or standard error, so far. */
  stdout(): string
  stderr(): string
  /** Exit code, or the signal that ended it. */
  exited: Promise<number | NodeJS.Signals>
  /** Waits until it listens. @returns its address; throws with its output when it ends instead */
  url(): Promise<string>
  /** @param whom  the process alone, or its whole group as Ctrl-C in a terminal does */
  signal(signal: NodeJS.Signals, whom?: 'process' | 'group'): void
}

/** Starts `postrider start` for the test that runs; the settings of this process's environment do not count.
 *  What is left of it is killed when it is disposed of, or the test is over. */
export function startProgram(settings: Record<string, string>): Program {
  const inherited = Object.entries(process.env).filter(([name]) => /^(PATH|HOME|TMPDIR|XDG_.*)$/.test(name))
  const child = spawn(process.execPath, [...commandInTest, 'start'], {
    env: { ...Object.fromEntries(inherited), ...settings },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { pid } = child
  if (pid === undefined) throw new Error('the built program cannot be started')
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  let hasEnded = false
  const exited = once(child, 'close').then(([code, signal]) => {
    hasEnded = true
    return (code ?? signal) as number | NodeJS.Signals
  })
  const end = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  // A test that times out does not come to the end of its block.
  onTestFinished(end)
  const address = (): string | undefined => /Web app\s+(http\S+)/.exec(stdout)?.[1]
  return {
    pid,
    exited,
    stdout: () => stdout,
    stderr: () => stderr,
    url: () =>
      until(
        'the node is ready',
        () => {
          const url = address()
          if (url === undefined && hasEnded) throw new Error(`the node ended at its start:\n${stdout}${stderr}`)
          return url
        },
        readyLimitMs,
      ),
    signal: (signal, whom = 'process') => void process.kill(whom === 'group' ? -pid : pid, signal),
    [Symbol.asyncDispose]: end,
  }
}
