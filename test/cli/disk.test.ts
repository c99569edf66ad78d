import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkDisk, judgeRoom } from '../../src/commands/doctor/disk.ts'

describe('doctor on the disk of the data folder', () => {
  it.each([
    ['problem', 0],
    ['problem', 99_000_000],
    ['warning', 100_000_000],
    ['ok', 1_000_000_000],
  ])('finds a %s with %d bytes free', (state, freeBytes) => {
    expect(judgeRoom('/data', freeBytes)).toMatchObject({ state, found: `${freeBytes / 1_000_000} MB free at /data` })
  })

  it('looks at the disk where the first start would make the folder', async () => {
    expect((await checkDisk(join(tmpdir(), 'not', 'made', 'yet'))).found).toMatch(`MB free at ${tmpdir()}`)
  })

  it('tells a folder that takes no files', async () => {
    expect(await checkDisk('/dev/null/data')).toMatchObject({
      state: 'problem',
      found: '/dev/null/data cannot be written (ENOTDIR)',
    })
  })
})
