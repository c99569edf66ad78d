import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import type { Reading } from '../../src/audiences/member-row.ts'
import { readMembers } from '../../src/audiences/read-members.ts'
import { maxBadRowSample, stageMembers, stagingGroupSize } from '../../src/audiences/stage-members.ts'

const rowsPerChunk = 1_000

it.each([
  ['ndjson', '', (n: number) => `{"userId":"u${n}"}\n`],
  ['csv', 'userId\n', (n: number) => `u${n}\n`],
] as const)('reads %s no faster than it is written, however long it is', async (format, header, line) => {
  let made = 0
  let written = 0
  let most = 0
  async function* chunks() {
    yield Buffer.from(header)
    for (let chunk = 0; chunk < 200; chunk++) {
      yield Buffer.from(Array.from({ length: rowsPerChunk }, () => line(made++)).join(''))
      most = Math.max(most, made - written)
    }
  }
  const staged = await stageMembers(readMembers(Readable.from(chunks()), format, 'audience'), async (rows) => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    written += rows.length
  })
  expect(staged).toMatchObject({ rowsRead: 200_000, badRows: 0 })
  expect(written).toBe(200_000)
  // The group that is written, the one that is gathered, and what the parser and its stream hold.
  expect(most).toBeLessThan(10 * stagingGroupSize)
})

it('counts all bad rows, and remembers the first of them by their lines', async () => {
  const lines = Array.from({ length: 3 * maxBadRowSample }, (_, index) => (index % 2 === 0 ? `"u${index}"` : 'bad'))
  const { rowsRead, badRows, badRowSample } = await stageMembers(
    readMembers(Readable.from([Buffer.from(lines.join('\n'))]), 'ndjson', 'audience'),
    () => Promise.resolve(),
  )
  expect({ rowsRead, badRows }).toEqual({ rowsRead: 3 * maxBadRowSample, badRows: 1.5 * maxBadRowSample })
  expect(badRowSample.map(({ line }) => line)).toEqual(Array.from({ length: maxBadRowSample }, (_, n) => 2 * n + 2))
})

it('has written all that it will write when it fails', async () => {
  async function* readings(): AsyncGenerator<Reading[]> {
    yield Array.from({ length: stagingGroupSize }, (_, index) => ({
      line: index + 1,
      row: { userId: `u${index}`, present: true, value: null, traits: null },
    }))
    throw new Error('cut off')
  }
  let isWriting = false
  const staging = stageMembers(readings(), async () => {
    isWriting = true
    await new Promise((resolve) => setTimeout(resolve, 50))
    isWriting = false
  })
  await expect(staging).rejects.toThrow('cut off')
  expect(isWriting).toBe(false)
})
