/** Runs a program that uses the built package, in a process of its own. */

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { resolve } from 'node:path'
import { onTestFinished } from 'vitest'

export interface Program {
  process: ChildProcess
  /** Resolves when the process has ended. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; output: string }>
  /** All of standard output and error so far. */
  output(): string
  /** Resolves when the output contains `text`; rejects when the process ends before. */
  printed(text: string): Promise<void>
}

const clientFolder = resolve(import.meta.dirname, '../..')

/** Runs it with Node. @param source  an ES module; its imports resolve to what was built */
export const runProgram = (source: string, env: Record<string, string> = {}): Program =>
  launch(process.execPath, ['--input-type=module', '-e', source], env, clientFolder)

/** Runs a command, which is killed when the test that runs is over. */
export function launch(command: string, args: readonly string[], env: Record<string, string>, cwd: string): Program {
  const child = spawn(command, args, { cwd, env: { PATH: process.env.PATH, ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  const waiters: { text: string; resolve: () => void; reject: (error: Error) => void }[] = []
  const read = (data: Buffer) => {
    output += data.toString()
    waiters.filter(({ text }) => output.includes(text)).forEach((waiter) => waiter.resolve())
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null; output: string }>((done) => {
    child.once('close', (code, signal) => {
      waiters.forEach((waiter) => waiter.reject(new Error(`ended before printing ${waiter.text}: ${output}`)))
      done({ code, signal, output })
    })
  })
  return {
    process: child,
    ended,
    output: () => output,
    printed: (text) =>
      new Promise((done, reject) => {
        if (output.includes(text)) done()
        else waiters.push({ text, resolve: done, reject })
      }),
  }
}
