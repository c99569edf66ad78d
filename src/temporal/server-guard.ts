/** Ends the embedded server when its node is gone, however that ended, unless the next start takes the server over. */

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Guard {
  /** Names the file that stands for the right to end the server: who removes it has the server. */
  token: string
  /** For when the server is gone. */
  end(): void
}

/** Between the end of a node and that of its server, in seconds: a start that follows finds the server ready. */
const usualGraceSeconds = 30
/** As long as a stop by the node gives it, in seconds. */
const stopSeconds = 15

/**
 * A shell that waits for the end of its input, whose other end the node holds: a kill is noticed by nothing else, and a node that
 * stands still keeps it open. The pid may be another program's by then, so the start time is looked at as well. Where the folder itself
 * is gone, nobody has taken the server over.
 */
const script = `
pid=$1 token=$2 grace=$3
startTime() {
  if [ -d /proc/self ]; then
    read -r stat <"/proc/$pid/stat" && set -- \${stat##*) } && echo "\${20}"
  else
    LC_ALL=C TZ=UTC ps -o lstart= -p "$pid"
  fi
}
first=$(startTime)
runs() { [ -n "$first" ] && [ "$(startTime)" = "$first" ]; }
read -r _
if runs; then sleep "$grace"; fi
{ rm "$token" || [ ! -d "\${token%/*}" ]; } && runs && kill -s TERM "$pid" || exit 0
seconds=0
while runs && [ $seconds -lt ${stopSeconds} ]; do sleep 1; seconds=$((seconds + 1)); done
runs && kill -s KILL "$pid"
`

/** @param pid  of the server
 *  @param graceSeconds  between the end of this process and that of the server */
export function guardServer(pid: number, dataDir: string, graceSeconds = usualGraceSeconds): Guard {
  const token = randomUUID()
  const path = pathOf(dataDir, token)
  writeFileSync(path, '', { mode: 0o600 })
  const child = spawn('/bin/sh', ['-c', script, 'postrider-guard', String(pid), path, String(graceSeconds)], {
    // A session of its own: it outlives what ends this process, such as a closed terminal.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Where there is no shell, the next start takes the server over, or ends it.
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  child.unref()
  return {
    token,
    end() {
      child.kill('SIGKILL')
      rmSync(path, { force: true })
    },
  }
}

/** Takes a server from its guard; false when that is ending it already. */
export function takeFromGuard(dataDir: string, token: string): boolean {
  try {
    unlinkSync(pathOf(dataDir, token))
    return true
  } catch {
    return false
  }
}

const pathOf = (dataDir: string, token: string): string => join(dataDir, `temporal-guard-${token}`)
