import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client, Connection } from '@temporalio/client'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { minRetentionMs } from '../../src/config.ts'
import { StartError } from '../../src/errors.ts'
import { findFreePorts } from '../../src/ports.ts'
import { endProcess, isRunning } from '../../src/process-identity.ts'
import { durationMs } from '../../src/temporal/durations.ts'
import { endOrphan, startEmbeddedServer } from '../../src/temporal/embedded-server.ts'
import { ensureRetention } from '../../src/temporal/retention.ts'
import { isServing } from '../../src/temporal/server-health.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { runScript } from '../support/run-script.ts'
import { makeServerFolder } from '../support/temporal.ts'

const timeout = 120_000
const cli = inject('temporalCli')
let dataDir: string
let progress: string[]
beforeEach(async ({ onTestFinished }) => {
  dataDir = await makeServerFolder()
  progress = []
  // After the scripts of the test: one that still runs would begin to use the folder anew.
  onTestFinished(async () => {
    await endOrphan(dataDir)
    await rm(dataDir, { recursive: true, force: true })
  })
})

const options = (ports = { port: 0, uiPort: 0 }) => ({
  cli,
  dataDir,
  ...ports,
  onProgress: (line: string) => void progress.push(line),
})

const serverNote = async (folder = dataDir) => {
  const note = await readNote(folder)
  if (note === undefined) throw new Error('no server is noted')
  return note
}

async function withConnection<T>(address: string, use: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address })
  try {
    return await use(connection)
  } finally {
    await connection.close()
  }
}

/** A program that starts the embedded server, says so, and on SIGINT waits for the test's leave to stop it. */
const startInProcess = ({ graceSeconds = 60, folder = dataDir } = {}) =>
  runScript(
    `import { startEmbeddedServer } from '../src/temporal/embedded-server.ts'
     const [cli, dataDir, grace] = process.argv.slice(2)
     const options = { cli, dataDir, port: 0, uiPort: 0, graceSeconds: Number(grace), onProgress: console.log }
     const server = await startEmbeddedServer(options)
     process.on('SIGINT', () => console.log('interrupted'))
     process.on('SIGTERM', () => server.stop().then(() => { console.log('stopped'); process.exit(0) }))
     console.log('started')`,
    [cli, folder, String(graceSeconds)],
    { group: true },
  )

/** Process ids of the guards of servers in the folder. */
async function guards(folder = dataDir): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,args='])
  const lines = stdout.split('\n').filter((line) => line.includes(join(folder, 'temporal-guard-')))
  return lines.map((line) => parseInt(line, 10))
}

const noGuardIsLeft = () => waitFor(async () => (await guards()).length === 0)

async function waitFor(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + timeout / 2
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error('the condition did not become true')
    await sleep(50)
  }
}

describe('startEmbeddedServer', { timeout }, () => {
  it('serves gRPC and its UI, and leaves no process when it is stopped', async () => {
    const server = await startEmbeddedServer(options())
    expect(server.adopted).toBe(false)
    expect(await isServing(server.address, 'default', 10_000)).toBe(true)
    expect((await fetch(server.uiUrl)).status).toBe(200)
    const note = await serverNote()
    expect(isRunning(note)).toBe(true)

    await server.stop()
    expect(await server.exited).toBe('stopped')
    expect(isRunning(note)).toBe(false)
    expect(await readdir(dataDir)).not.toContain('temporal.json')
    await noGuardIsLeft()
    expect((await readdir(dataDir)).filter((file) => file.includes('guard'))).toEqual([])
  })

  it('keeps its files for their owner alone and its data over a restart', async () => {
    const first = await startEmbeddedServer(options())
    await withConnection(first.address, (connection) =>
      new Client({ connection }).workflow.start('any', { taskQueue: 'none', workflowId: 'kept' }),
    )
    for (const file of await readdir(dataDir)) {
      expect([file, (await stat(join(dataDir, file))).mode & 0o077]).toEqual([file, 0])
    }
    await first.stop()

    const second = await startEmbeddedServer(options())
    expect(second.adopted).toBe(false)
    const { status } = await withConnection(second.address, (connection) =>
      new Client({ connection }).workflow.getHandle('kept').describe(),
    )
    expect(status.name).toBe('RUNNING')
    await second.stop()
  })

  it('adopts the server of an instance that was killed hard, with its data', async () => {
    const killed = startInProcess()
    await killed.line('started')
    const note = await serverNote()
    await withConnection(`127.0.0.1:${note.port}`, (connection) =>
      new Client({ connection }).workflow.start('any', { taskQueue: 'none', workflowId: 'survivor' }),
    )
    await killed.kill()
    expect(isRunning(note)).toBe(true)

    const server = await startEmbeddedServer(options())
    expect(server.adopted).toBe(true)
    expect(server.address).toBe(`127.0.0.1:${note.port}`)
    const { status } = await withConnection(server.address, (connection) =>
      new Client({ connection }).workflow.getHandle('survivor').describe(),
    )
    expect(status.name).toBe('RUNNING')
    await server.stop()
    expect(isRunning(note)).toBe(false)
  })

  it('ends with an instance that was killed hard when none follows', async () => {
    const killed = startInProcess({ graceSeconds: 1 })
    await killed.line('started')
    const note = await serverNote()
    expect(await guards()).toHaveLength(1)
    await killed.kill()
    await waitFor(() => !isRunning(note))
    await noGuardIsLeft()
    expect((await readdir(dataDir)).filter((file) => file.includes('guard'))).toEqual([])
  })

  it('ends with an instance that was killed hard, though its folder was deleted since', async () => {
    const folder = await makeServerFolder()
    const killed = startInProcess({ graceSeconds: 3, folder })
    await killed.line('started')
    const note = await serverNote(folder)
    await killed.kill()
    await rm(folder, { recursive: true, force: true })
    await waitFor(() => !isRunning(note))
  })

  it('is not ended once it is adopted', async () => {
    const killed = startInProcess({ graceSeconds: 10 })
    await killed.line('started')
    const note = await serverNote()
    const [guard] = await guards()
    await killed.kill()
    const server = await startEmbeddedServer(options())
    expect(server.adopted).toBe(true)

    await waitFor(async () => !(await guards()).includes(guard ?? 0))
    expect(isRunning(note)).toBe(true)
    expect(await guards()).toHaveLength(1)
    await server.stop()
    await noGuardIsLeft()
  })

  it('goes on beside an instance that stands still', async () => {
    const frozen = startInProcess({ graceSeconds: 1 })
    await frozen.line('started')
    const note = await serverNote()
    process.kill(frozen.pid, 'SIGSTOP')

    const folder = await makeServerFolder()
    onTestFinished(async () => {
      await endOrphan(folder)
      await rm(folder, { recursive: true, force: true })
    })
    const killed = startInProcess({ graceSeconds: 1, folder })
    await killed.line('started')
    const itsNote = await serverNote(folder)
    await killed.kill()
    await waitFor(() => !isRunning(itsNote))
    expect(isRunning(note)).toBe(true)

    process.kill(frozen.pid, 'SIGCONT')
    process.kill(frozen.pid, 'SIGTERM')
    expect(await frozen.exited).toBe(0)
    await noGuardIsLeft()
  })

  it('ends a server left behind when other ports are wanted now', async () => {
    const killed = startInProcess()
    await killed.line('started')
    const note = await serverNote()
    await killed.kill()

    const [port = 0, uiPort = 0] = await findFreePorts('127.0.0.1', 2)
    const server = await startEmbeddedServer(options({ port, uiPort }))
    expect(server.adopted).toBe(false)
    expect(server.address).toBe(`127.0.0.1:${port}`)
    expect(isRunning(note)).toBe(false)
    await server.stop()
  })

  it('leaves alone a process that only has the pid of the former server', async () => {
    const note = { pid: process.ppid, identity: 'another', port: 1, uiPort: 2, cli, args: [] }
    await writeFile(join(dataDir, 'temporal.json'), JSON.stringify(note))
    const server = await startEmbeddedServer(options())
    expect(server.adopted).toBe(false)
    await server.stop()
    expect(() => process.kill(process.ppid, 0)).not.toThrow()
  })

  it('outlives an interrupt to the whole process group until it is stopped', async () => {
    const parent = startInProcess()
    await parent.line('started')
    const note = await serverNote()
    process.kill(-parent.pid, 'SIGINT')
    await parent.line('interrupted')
    expect(await isServing(`127.0.0.1:${note.port}`, 'default', 10_000)).toBe(true)

    process.kill(parent.pid, 'SIGTERM')
    await parent.line('stopped')
    expect(await parent.exited).toBe(0)
    expect(isRunning(note)).toBe(false)
  })

  it('restarts a server that dies, at the same address', async () => {
    const server = await startEmbeddedServer(options())
    const note = await serverNote()
    process.kill(note.pid, 'SIGKILL')
    await waitFor(() => progress.includes('The Temporal server is back'))
    await waitFor(async () => (await guards()).length === 1)
    expect(await isServing(server.address, 'default', 10_000)).toBe(true)
    expect((await serverNote()).pid).not.toBe(note.pid)
    expect(progress[0]).toBe('The Temporal server has ended; restarting it in 0.25 s')
    await server.stop()
  })

  it('stops while a dead server is being restarted', async () => {
    const server = await startEmbeddedServer(options())
    process.kill((await serverNote()).pid, 'SIGKILL')
    await waitFor(() => progress.length > 0)
    await server.stop()
    expect(await server.exited).toBe('stopped')
    expect(await readNote(dataDir)).toBeUndefined()
  })

  it('restarts an adopted server that dies', async () => {
    const killed = startInProcess()
    await killed.line('started')
    await killed.kill()
    const server = await startEmbeddedServer(options())
    expect(server.adopted).toBe(true)
    await endProcess(await serverNote(), 0)
    await waitFor(() => progress.includes('The Temporal server is back'))
    await server.stop()
  })

  it('keeps the data of a server whose first start was cut off when it was just noted', async () => {
    const killed = startInProcess()
    await waitFor(async () => (await readNote(dataDir)) !== undefined)
    await killed.kill()
    const note = await serverNote()
    await waitFor(() => isServing(`127.0.0.1:${note.port}`, 'default', 1_000))

    const adopting = await startEmbeddedServer(options())
    expect(adopting.adopted).toBe(true)
    await withConnection(adopting.address, (connection) =>
      new Client({ connection }).workflow.start('any', { taskQueue: 'none', workflowId: 'acknowledged' }),
    )
    await adopting.stop()
    const next = await startEmbeddedServer(options())
    const { status } = await withConnection(next.address, (connection) =>
      new Client({ connection }).workflow.getHandle('acknowledged').describe(),
    )
    expect(status.name).toBe('RUNNING')
    await next.stop()
  })

  it('makes the database anew when its first start was cut off in the middle', async () => {
    // What a kill in the middle of the schema leaves: a file, and our mark that it was never finished.
    await writeFile(join(dataDir, 'temporal.db'), '')
    await writeFile(join(dataDir, 'temporal.db.unfinished'), '')
    const server = await startEmbeddedServer(options())
    await server.stop()
    expect(await readdir(dataDir)).not.toContain('temporal.db.unfinished')
  })

  it.each(['POSTRIDER_TEMPORAL_PORT', 'POSTRIDER_TEMPORAL_UI_PORT'])(
    'answers with one line naming %s when that port is in use',
    async (name) => {
      const occupant = createServer().listen(0, '127.0.0.1')
      await once(occupant, 'listening')
      const { port } = occupant.address() as AddressInfo
      const ports = name === 'POSTRIDER_TEMPORAL_PORT' ? { port, uiPort: 0 } : { port: 0, uiPort: port }
      const refusal = startEmbeddedServer(options(ports))
      await expect(refusal).rejects.toBeInstanceOf(StartError)
      await expect(refusal).rejects.toThrow(`Port ${port} is in use; set ${name} to a free one for the Temporal server`)
      expect(await readNote(dataDir)).toBeUndefined()
      occupant.close()
    },
  )

  it('answers with one line when the server ends at its start', async () => {
    await writeFile(join(dataDir, 'temporal.db'), 'no database')
    const refusal = startEmbeddedServer(options())
    await expect(refusal).rejects.toBeInstanceOf(StartError)
    await expect(refusal).rejects.toThrow(/^The Temporal server ended at its start: failed [^\n]+$/)
  })

  it('starts a server again that is killed at its start', async () => {
    const start = startEmbeddedServer(options())
    await waitFor(async () => (await readNote(dataDir)) !== undefined)
    process.kill((await serverNote()).pid, 'SIGKILL')
    const server = await start
    expect(progress).toContain('The Temporal server was killed at its start; starting it again')
    expect(await isServing(server.address, 'default', 5_000)).toBe(true)
    await server.stop()
  })

  it('leaves no server when the start is interrupted', async () => {
    const interrupted = new AbortController()
    const start = startEmbeddedServer({ ...options(), signal: interrupted.signal })
    const refusal = expect(start).rejects.toThrow('enough')
    await waitFor(async () => (await readNote(dataDir)) !== undefined)
    const note = await serverNote()
    interrupted.abort(new Error('enough'))
    await refusal
    expect(isRunning(note)).toBe(false)
  })

  it('writes to its log only as far as the log is bounded', async () => {
    await writeFile(join(dataDir, 'temporal.log'), 'x'.repeat(10_000_001))
    const server = await startEmbeddedServer(options())
    await server.stop()
    expect((await stat(join(dataDir, 'temporal.log.1'))).size).toBe(10_000_001)
    expect(await readFile(join(dataDir, 'temporal.log'), 'utf8')).not.toContain('xxx')
  })
})

describe('ensureRetention', { timeout }, () => {
  const retentionOf = (address: string) =>
    withConnection(address, async (connection) => {
      const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' })
      return durationMs(config?.workflowExecutionRetentionTtl)
    })

  it('sets the retention at the start, down to the shortest that the server accepts', async () => {
    const server = await startEmbeddedServer({ ...options(), retentionMs: 72 * 3_600_000 })
    expect(await retentionOf(server.address)).toBe(72 * 3_600_000)
    await withConnection(server.address, async (connection) => {
      expect(await ensureRetention(connection, 'default', minRetentionMs)).toBe(true)
      expect(await ensureRetention(connection, 'default', minRetentionMs)).toBe(false)
      await expect(ensureRetention(connection, 'default', minRetentionMs - 1_000)).rejects.toThrow(/retention/)
    })
    expect(await retentionOf(server.address)).toBe(minRetentionMs)
    await server.stop()
  })
})
