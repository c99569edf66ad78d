import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openDataFolder } from '../src/data-folder.ts'
import { StartError } from '../src/errors.ts'
import { endProcess, processIdentity, processRef } from '../src/process-identity.ts'
import { runScript } from './support/run-script.ts'

let parent: string
beforeEach(async ({ onTestFinished }) => {
  parent = await mkdtemp(join(tmpdir(), 'postrider-data-folder-'))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
})

/** A process that opens the folder, says `opened` or why not, and keeps it until it is killed. */
const openInProcess = (path: string, container = false) =>
  runScript(
    `import { openDataFolder } from '../src/data-folder.ts'
     openDataFolder(process.argv[2]).then(
       () => { console.log('opened'); setInterval(() => {}, 1000) },
       (error) => console.log(error.name + ': ' + error.message))`,
    [path],
    { container },
  )

describe('openDataFolder', () => {
  it('creates the folder for its owner alone and lets the next instance in after close', async () => {
    const path = join(parent, 'a', 'b')
    const first = await openDataFolder(path)
    expect(first.path).toBe(path)
    expect((await stat(path)).mode & 0o777).toBe(0o700)
    await first.close()
    expect(await readdir(path)).toEqual([])
    await (await openDataFolder(path)).close()
  })

  it('refuses a folder that another process uses, naming the folder and the process', async () => {
    const other = openInProcess(parent)
    await other.line('opened')
    const refusal = openDataFolder(parent)
    await expect(refusal).rejects.toBeInstanceOf(StartError)
    await expect(refusal).rejects.toThrow(`${parent} is in use by another Postrider (process ${other.pid})`)
    await other.kill()
  })

  it('refuses to open the folder twice in one process', async () => {
    const first = await openDataFolder(parent)
    await expect(openDataFolder(parent)).rejects.toThrow(`process ${process.pid}`)
    await first.close()
  })

  it('takes the folder over from a process that was killed hard', async () => {
    const other = openInProcess(parent)
    await other.line('opened')
    await other.kill()
    expect(await readdir(parent)).toHaveLength(1)
    const folder = await openDataFolder(parent)
    expect(await readdir(parent)).toHaveLength(1)
    await folder.close()
  })

  it('refuses a folder that a process of another container uses, until that one is killed', async () => {
    const owner = openInProcess(parent, true)
    await owner.line('opened')
    for (const container of [true, false]) {
      const other = openInProcess(parent, container)
      expect(await other.line(/./)).toMatch(/^StartError: .* is in use by another Postrider \(process 1\)/)
      expect(await other.exited).toBe(0)
    }
    await owner.kill()
    const next = openInProcess(parent, true)
    expect(await next.line(/./)).toBe('opened')
    await expect(openDataFolder(parent)).rejects.toThrow('(process 1)')
    await next.kill()
    const folder = await openDataFolder(parent)
    await folder.close()
  })

  it('refuses a folder whose owner is suspended', async () => {
    const owner = openInProcess(parent)
    await owner.line('opened')
    process.kill(owner.pid, 'SIGSTOP')
    await expect(openDataFolder(parent)).rejects.toThrow(`process ${owner.pid}`)
    await owner.kill()
  })

  it('takes a folder whose path is longer than that of a socket may be', async () => {
    const path = join(parent, 'x'.repeat(200))
    const folder = await openDataFolder(path)
    const other = openInProcess(path)
    expect(await other.line(/./)).toContain(`(process ${process.pid})`)
    await folder.close()
    expect(await readdir(path)).toEqual([])
  })

  it('takes the folder over when the pid of the dead owner now belongs to another process', async () => {
    // The test runner's parent lives, but it is not the process that made this claim.
    await writeFile(join(parent, `postrider.${process.ppid}.0123456789abcdef.lock`), '')
    const folder = await openDataFolder(parent)
    await folder.close()
    expect(await readdir(parent)).toEqual([])
  })

  it('lets in exactly one of several processes that start at once', async () => {
    const starters = Array.from({ length: 4 }, () => openInProcess(parent))
    const first = await Promise.all(starters.map((starter) => starter.line(/./)))
    expect(first.filter((line) => line === 'opened')).toHaveLength(1)
    expect(first.filter((line) => /^StartError: .* is in use by another Postrider/.test(line))).toHaveLength(3)
    await Promise.all(starters.map((starter) => starter.kill()))
  })

  it('answers in one line when the folder cannot be made', async () => {
    const file = join(parent, 'file')
    await writeFile(file, '')
    const refusal = openDataFolder(join(file, 'folder'))
    await expect(refusal).rejects.toBeInstanceOf(StartError)
    await expect(refusal).rejects.toThrow(/cannot be used \(ENOTDIR\); set POSTRIDER_DATA_DIR$/)
  })
})

describe('processIdentity', () => {
  it('is the same while a process lives and gone when it has ended', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'spawn')
    const ref = processRef(child.pid ?? 0)
    if (ref === undefined) throw new Error('the child has no identity')
    expect(processIdentity(ref.pid)).toBe(ref.identity)
    expect(processIdentity(ref.pid)).not.toBe(processIdentity(process.pid))
    const exited = once(child, 'exit')
    await endProcess(ref, 10_000)
    expect(processIdentity(ref.pid)).toBeUndefined()
    expect(await exited).toEqual([null, 'SIGTERM'])
  })

  it('kills a process that does not heed SIGTERM', async () => {
    const child = spawn(process.execPath, [
      '-e',
      "process.on('SIGTERM', () => {}); console.log('deaf')" + '; setInterval(() => {}, 1000)',
    ])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const ref = processRef(child.pid ?? 0)
    if (ref === undefined) throw new Error('the child has no identity')
    const exited = once(child, 'exit')
    await endProcess(ref, 100)
    expect(await exited).toEqual([null, 'SIGKILL'])
  })
})
