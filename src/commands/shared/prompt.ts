/** Questions to the user. */

import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { CommandError, usageError } from './failure.ts'

/** Goes on only when the user agrees, by `--yes` or by answering.
 *  @throws CommandError when the user does not, or cannot be asked */
export async function confirm(question: string, { yes }: { yes?: boolean }): Promise<void> {
  if (yes === true) return
  if (!process.stdin.isTTY) throw usageError(`${question} Add --yes to continue without being asked.`)
  const readline = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await readline.question(`${question} [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('failed', 'nothing was changed')
  } finally {
    readline.close()
  }
}

/** A secret from the terminal, not shown while it is typed, or the first line of a pipe. */
export async function askSecret(question: string): Promise<string> {
  const isTerminal = process.stdin.isTTY
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  // Before the question, because from here on the terminal does not show what is typed.
  const readline = createInterface({ input: process.stdin, output: silent, terminal: isTerminal })
  if (isTerminal) process.stderr.write(question)
  try {
    for await (const line of readline) return line.trim()
    return ''
  } finally {
    readline.close()
    if (isTerminal) process.stderr.write('\n')
  }
}
