/** Symptom: a start on a full disk printed a stack trace, stayed alive and heeded no Ctrl-C any more; one whose database could not be
 *  copied spoke of damage and backups.
 *  Cause: what came of the note of the Temporal server was thrown on as it came, and what the failed start left open kept the process alive.
 *  Consequence: the operator was not told to make room, and had to kill the process. */

import { mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import { diskFault } from '../../src/data-folder.ts'
import { StartError } from '../../src/errors.ts'
import { makeDataFolder } from '../support/app.ts'
import { startProgram, type Program } from '../support/program.ts'
import { until } from '../support/wait.ts'

let dataDir: string
beforeEach(async ({ onTestFinished }) => {
  dataDir = await makeDataFolder()
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
})

const start = (): Program =>
  startProgram({
    PATH: [dirname(inject('temporalCli')), process.env['PATH']].join(delimiter),
    PORT: '0',
    POSTRIDER_DATA_DIR: dataDir,
    POSTRIDER_TEMPORAL_PORT: '0',
    POSTRIDER_TEMPORAL_UI_PORT: '0',
  })

/** The note of the server is written so, and then put in its place. */
const note = (): string => join(dataDir, 'temporal.json.new')

describe('a start that cannot note its Temporal server', { timeout: 180_000 }, () => {
  it.runIf(process.platform === 'linux')('tells in one line of a full disk', async () => {
    // Its writes fail as on a full disk.
    await symlink('/dev/full', note())
    const node = start()
    expect(await node.exited).toBe(1)
    const [line, ...more] = node.stderr().trimEnd().split('\n').filter(isNoLogLine)
    expect(line).toBe(
      `postrider: The data folder ${dataDir} cannot be written, its disk is full: make room there, or set POSTRIDER_DATA_DIR`,
    )
    expect(more).toEqual([])
  })

  it.runIf(process.platform === 'linux')('ends, whatever the reason, and leaves no server', async () => {
    await mkdir(note())
    const node = start()
    expect(await node.exited).toBe(1)
    expect(node.stderr()).toContain('EISDIR')
    await until('no server is left', async () => (await processesIn(dataDir)).length === 0)
  })
})

/** Process ids of those whose working directory it is, as it is a server's. */
async function processesIn(folder: string): Promise<string[]> {
  const isIn = async (pid: string): Promise<boolean> =>
    (await readlink(`/proc/${pid}/cwd`).catch(() => undefined)) === folder
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map(async (pid) => ((await isIn(pid)) ? [pid] : [])))
  return found.flat()
}

const isNoLogLine = (line: string): boolean => !line.startsWith('{')

describe('diskFault', () => {
  it.each([
    ['ENOSPC', 'its disk is full'],
    ['53100', 'its disk is full'],
    ['EDQUOT', 'the quota of its disk is used up'],
    ['EROFS', 'its disk is read-only'],
  ])('tells of %s in words', (code, words) => {
    const fault = diskFault('/data', Object.assign(new Error('refused'), { code }))
    expect(fault).toBeInstanceOf(StartError)
    expect(fault?.message).toContain(`/data cannot be written, ${words}`)
  })

  it('leaves out what the disk has no part in', () => {
    expect(diskFault('/data', new Error('damaged'))).toBeUndefined()
    expect(diskFault('/data', Object.assign(new Error('refused'), { code: 'EACCES' }))).toBeUndefined()
  })
})
