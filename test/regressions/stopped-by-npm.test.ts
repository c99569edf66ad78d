/** Symptom: a supervisor ended `npm start` with SIGTERM, and the node went on without it, with its port taken.
 *  Cause: npm passes the signal on to the shell that runs the script, and the shell does not pass it on to the node.
 *  Consequence: the next start found its port and its data folder in use. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { findFreePorts } from '../../src/ports.ts'
import { makeDataFolder, testEnvironment } from '../support/app.ts'
import { isComplete } from '../support/readiness.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const limitMs = 60_000

it('ends the node when npm is told to end', { timeout: 3 * limitMs }, async () => {
  const dataDir = await makeDataFolder()
  const [port = 0] = await findFreePorts('127.0.0.1', 1)
  // A process group of its own, by which whatever is left of it is found.
  const npm = spawn('npm', ['start'], {
    detached: true,
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...testEnvironment(await createNamespace(), dataDir),
      PORT: String(port),
    },
  })
  const group = -(npm.pid ?? 0)
  const isThere = (): boolean => {
    try {
      return process.kill(group, 0)
    } catch {
      return false
    }
  }
  onTestFinished(async () => {
    if (isThere()) process.kill(group, 'SIGKILL')
    await rm(dataDir, { recursive: true, force: true })
  })
  await until('the node is ready', () => isComplete(`http://127.0.0.1:${port}`), limitMs)
  const ended = once(npm, 'exit')
  npm.kill('SIGTERM')
  await ended
  await until('nothing of it is left', () => !isThere(), limitMs)
  expect(await isComplete(`http://127.0.0.1:${port}`)).toBe(false)
})
