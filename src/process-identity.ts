/** Recognises a process again later: a pid alone may meanwhile belong to somebody else. */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** A process together with what tells it from a later one of the same pid. */
export interface ProcessRef {
  pid: number
  identity: string
}

const pollMs = 50

/**
 * What distinguishes the process that has `pid` now from all others that had or will have this pid: its start time.
 * Linux and macOS tell it; elsewhere only the existence of the process counts.
 * @returns undefined when there is no such process, or only its unreaped remains
 */
export function processIdentity(pid: number): string | undefined {
  if (process.platform === 'linux') return linuxIdentity(pid)
  if (process.platform === 'darwin') return macIdentity(pid)
  try {
    process.kill(pid, 0)
    return 'running'
  } catch {
    return undefined
  }
}

/** The process that has `pid` now, or undefined when there is none. */
export function processRef(pid: number): ProcessRef | undefined {
  const identity = processIdentity(pid)
  return identity === undefined ? undefined : { pid, identity }
}

/** Whether this very process still runs. */
export function isRunning({ pid, identity }: ProcessRef): boolean {
  return processIdentity(pid) === identity
}

/** Ends a process: SIGTERM, and SIGKILL when it still runs after `graceMs`. Resolves when it is gone. */
export async function endProcess(target: ProcessRef, graceMs: number): Promise<void> {
  signalProcess(target, 'SIGTERM')
  if (await isGoneWithin(target, graceMs)) return
  signalProcess(target, 'SIGKILL')
  // Only a process stuck in the kernel outlives this, and waiting longer would not help.
  await isGoneWithin(target, 10_000)
}

function signalProcess(target: ProcessRef, signal: NodeJS.Signals): void {
  if (!isRunning(target)) return
  try {
    process.kill(target.pid, signal)
  } catch {
    // It ended between the look and the signal.
  }
}

async function isGoneWithin(target: ProcessRef, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs
  while (isRunning(target)) {
    if (performance.now() > deadline) return false
    await sleep(pollMs)
  }
  return true
}

/** Fields of `/proc/<pid>/stat` after the name (which may hold spaces and brackets): state first, start time 20th. */
function linuxIdentity(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    // The start time counts from the boot, so the boot belongs to it.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[19]}`
  } catch {
    return undefined
  }
}

function macIdentity(pid: number): string | undefined {
  try {
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env, encoding: 'utf8' }).trim()
    const [state = 'Z', ...startedAt] = line.split(/\s+/)
    return state.startsWith('Z') ? undefined : startedAt.join(' ')
  } catch {
    return undefined
  }
}
