/** What a test has started ends with it, also when the test hangs. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testEnvironment } from './app.ts'
import { startProgram, type Program } from './program.ts'
import { runScript, type ScriptProcess } from './run-script.ts'

describe('a test that times out', () => {
  let dataDir: string
  let program: Program
  let script: ScriptProcess
  it.fails('hangs beside what it has started', { timeout: 1_000 }, async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'postrider-test-'))
    const nowhere = { TEMPORAL_ADDRESS: '127.0.0.1:1', DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x' }
    // It waits for both, however long.
    await using started = startProgram({ ...testEnvironment('default', dataDir), ...nowhere })
    program = started
    script = runScript(`setInterval(() => {}, 1_000)`, [])
    await new Promise(() => {})
  })

  it('leaves none of it', async () => {
    expect(await program.exited).toBe('SIGKILL')
    expect(await script.exited).toBe(null)
    await rm(dataDir, { recursive: true })
  })
})
