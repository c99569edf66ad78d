/** Questions to the user. */

import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import { CommandError, usageError } from './failure.ts'

/** Goes on only when the user agrees, by `--yes` or by answering.
 *  @throws CommandError when the user does not, or cannot be asked */
export async function confirm(question: string, { yes }: { yes?: boolean }): Promise<void> {
  if (yes === true) return
  if (!process.stdin.isTTY) throw usageError(`${question} Add --yes to continue without being asked.`)
  const readline = createInterface({ input: process.stdin, output: process.stderr })
  readline.setPrompt(`${question} [y/N] `)
  readline.prompt()
  const answer = await lineOf(readline)
  if (!/^y(es)?$/i.test(answer?.trim() ?? '')) throw new CommandError('failed', 'nothing was changed')
}

/** A secret from the terminal, not shown while it is typed, or the first line of a pipe.
 *  @throws CommandError when there is none */
export async function askSecret(question: string): Promise<string> {
  const isTerminal = process.stdin.isTTY
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  // Before the question, because from here on the terminal does not show what is typed.
  const readline = createInterface({ input: process.stdin, output: silent, terminal: isTerminal })
  if (isTerminal) process.stderr.write(question)
  const secret = (await lineOf(readline).finally(() => isTerminal && process.stderr.write('\n')))?.trim() ?? ''
  if (secret === '') throw usageError('nothing was typed')
  return secret
}

/** One line; undefined when the input ends before, as with Ctrl-D.
 *  @throws CommandError (interrupted) at Ctrl-C */
const lineOf = async (readline: Interface): Promise<string | undefined> =>
  new Promise<string | undefined>((resolve, reject) => {
    readline
      .once('line', resolve)
      .once('close', () => resolve(undefined))
      .once('SIGINT', () => reject(new CommandError('interrupted', 'interrupted: nothing was changed')))
  }).finally(() => readline.close())
