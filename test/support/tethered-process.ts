/** Child processes for tests that cannot outlive the test run, however it ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { Socket } from 'node:net'

/** How long a process may take to end by itself once its tether is cut; then it is killed. */
const STOP_LIMIT_SECONDS = 15

export interface TetheredOptions {
  /** Receives standard output and error. */
  logFile: string
  env?: NodeJS.ProcessEnv
  /** Whom to run as; only root may set it. */
  owner?: { uid: number; gid: number }
  /** Asks the process to end; `TERM` unless given. */
  stopSignal?: 'TERM' | 'QUIT'
  /** A folder that is removed when the process was stopped or its test run died. */
  removeAfterwards?: string
}

export interface TetheredProcess {
  /** Of the program itself, not of a wrapper: a test may kill it hard. */
  readonly pid: number
  /** Settles when the process has ended, with its exit code or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>
  /** False as soon as the process has ended. */
  isRunning(): boolean
  /** Asks the process to end, kills it after 15 seconds, and waits until it has ended. */
  stop(): Promise<void>
}

/** Starts a program in a session of its own, tied to this process by a pipe: a small watcher reads the pipe and stops
 *  the program when the pipe closes, which happens on `stop()` and also when this process is killed. `exec` keeps the
 *  pid, the double fork keeps the watcher out of the program's children (PostgreSQL looks after those).
 *  @throws Error when `/bin/sh` cannot be started */
export async function spawnTethered(
  command: string,
  args: readonly string[],
  options: TetheredOptions,
): Promise<TetheredProcess> {
  const log = await open(options.logFile, 'a', 0o644)
  const child = spawn('/bin/sh', ['-c', TETHER, 'tether', command, ...args], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd, 'pipe'],
    env: {
      ...(options.env ?? process.env),
      TETHER_SIGNAL: options.stopSignal ?? 'TERM',
      TETHER_REMOVE: options.removeAfterwards ?? '',
    },
    ...options.owner,
  })
  try {
    await once(child, 'spawn')
  } finally {
    await log.close()
  }
  const { pid } = child
  const tether = child.stdio[3]
  if (pid === undefined || !(tether instanceof Socket)) throw new Error(`cannot start ${command}`)
  tether.on('error', () => undefined) // The watcher may be gone first.

  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(code ?? signal ?? 'SIGKILL')
    })
  })
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
  return {
    pid,
    exited,
    isRunning,
    stop: async () => {
      // The pid may be another program's by now; the watcher is told to leave it alone.
      tether.end(isRunning() ? '' : 'ended')
      await exited
    },
  }
}

const TETHER = `
pid=$$ signal=$TETHER_SIGNAL remove=$TETHER_REMOVE
unset TETHER_SIGNAL TETHER_REMOVE
( (
  if [ -z "$(cat <&3)" ]; then
    kill -s "$signal" $pid
    tenths=0
    while kill -0 $pid && [ $tenths -lt ${String(STOP_LIMIT_SECONDS * 10)} ]; do sleep 0.1; tenths=$((tenths + 1)); done
    kill -s KILL $pid
  fi
  [ -z "$remove" ] || rm -rf "$remove"
) >/dev/null 2>&1 & )
exec 3<&-
command=$1; shift
exec "$command" "$@"
`
