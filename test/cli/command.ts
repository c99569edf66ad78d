/** The built command in processes of its own, as a user at a shell has it. */

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { adminToken } from '../support/app.ts'
import { commandInTest } from '../support/built-command.ts'
import { until } from '../support/wait.ts'

const lineLimitMs = 60_000

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface Running extends AsyncDisposable {
  process: ChildProcessWithoutNullStreams
  /** What it has printed to standard output so far, line by line. */
  lines(): string[]
  /** The first line that matches, as soon as there is one. */
  line(match: string | RegExp): Promise<string>
  ended: Promise<Ended>
  /** Ends it as Ctrl-C does. */
  interrupt(): Promise<Ended>
}

export interface Shell extends AsyncDisposable {
  /** Home of the user's configuration and working folder. */
  folder: string
  run(args: string[], options?: { input?: string; env?: Record<string, string> }): Promise<Ended>
  /** Runs a line of the shell, in which `postrider` is the command. */
  sh(line: string): Promise<Ended>
  /** Runs it at a terminal, where `answer` is typed once `question` is shown. */
  atTerminal(
    args: string[],
    question?: string,
    answer?: string,
    env?: Record<string, string>,
  ): Promise<{ code: number | null; shown: string }>
  /** Runs with `--json`, expects exit code 0 and reads the document. */
  json<Value>(args: string[], options?: { env?: Record<string, string> }): Promise<Value>
  start(args: string[], env?: Record<string, string>): Running
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** A user's shell whose environment leads to the node at `url`; without a URL it leads nowhere.
 *  @param command  what Node is given to run the command; that of the whole unless given */
export async function openShell(url?: string, command = commandInTest): Promise<Shell> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-cli-'))
  const environment = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    NO_COLOR: '1',
    ...(url !== undefined && { POSTRIDER_ADDRESS: url, POSTRIDER_ADMIN_TOKEN: adminToken }),
  }
  const children = new Set<ChildProcessWithoutNullStreams>()

  const launch = (args: string[], env: Record<string, string> = {}) =>
    follow(spawn(process.execPath, [...command, ...args], { cwd: folder, env: { ...environment, ...env } }))

  const follow = (child: ChildProcessWithoutNullStreams) => {
    children.add(child)
    const texts = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text: string) => (texts[stream] += text))
    const ended = once(child, 'close').then(([code]): Ended => {
      children.delete(child)
      return { code: code as number | null, ...texts }
    })
    return { child, texts, ended }
  }

  const run: Shell['run'] = async (args, { input = '', env } = {}) => {
    const { child, ended } = launch(args, env)
    // A command that needs no input may have ended already.
    child.stdin.on('error', () => {}).end(input)
    return ended
  }

  return {
    folder,
    run,
    async sh(line) {
      const call = [process.execPath, ...command].map(quoted).join(' ')
      const script = `postrider() { ${call} "$@"; }\n${line}`
      const { child, ended } = follow(spawn('sh', ['-c', script], { cwd: folder, env: environment }))
      child.stdin.end()
      return ended
    },
    async atTerminal(args, question, answer = '', env = {}) {
      const line = [process.execPath, ...command, ...args].map(quoted).join(' ')
      const child = spawn('script', ['-qec', line, '/dev/null'], { cwd: folder, env: { ...environment, ...env } })
      const { texts, ended } = follow(child)
      const type = (): void => {
        if (question === undefined || !texts.stdout.includes(question)) return
        child.stdout.off('data', type)
        child.stdin.write(answer)
      }
      child.stdout.on('data', type)
      const { code, stdout } = await ended
      return { code, shown: stdout }
    },
    async json<Value>(args: string[], options = {}) {
      const { code, stdout, stderr } = await run([...args, '--json'], options)
      if (code !== 0) throw new Error(`postrider ${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout) as Value
    },
    start(args, env) {
      const { child, texts, ended } = launch(args, env)
      const lines = (): string[] => texts.stdout.split('\n').slice(0, -1)
      const interrupt = async (): Promise<Ended> => {
        child.kill('SIGINT')
        return ended
      }
      return {
        process: child,
        ended,
        lines,
        line: (match) =>
          until(
            `a line with ${match} (${texts.stderr})`,
            () => {
              if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${texts.stderr}`)
              return lines().find((line) => (typeof match === 'string' ? line.includes(match) : match.test(line)))
            },
            lineLimitMs,
          ),
        interrupt,
        async [Symbol.asyncDispose]() {
          if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
          await ended
        },
      }
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
