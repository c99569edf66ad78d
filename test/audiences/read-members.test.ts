import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { maxRowBytes } from '../../src/audiences/bound-rows.ts'
import { MembershipError } from '../../src/audiences/membership-error.ts'
import type { Reading } from '../../src/audiences/member-row.ts'
import { readMembers } from '../../src/audiences/read-members.ts'
import type { MemberFormat } from '../../src/schemas/audience.ts'

const chunkBytes = 16 * 1024

/** Far more than any row may have, and less than would end the test run. */
const endlessBytes = 256 * 1024 * 1024

/** The rows that were read before the end, why it ended, and how many bytes were taken for that. */
async function read(format: MemberFormat, begin: string, repeated: string) {
  let taken = 0
  function* chunks() {
    yield Buffer.from(begin)
    const chunk = Buffer.from(repeated.repeat(Math.ceil(chunkBytes / repeated.length)))
    for (; taken < endlessBytes; taken += chunk.length) yield chunk
  }
  const readings: Reading[] = []
  let error: unknown
  try {
    for await (const group of readMembers(Readable.from(chunks()), format, 'audience')) readings.push(...group)
  } catch (caught) {
    error = caught
  }
  return { readings, error, taken }
}

const row = '{"userId":"u1"}'

describe('a row without end', () => {
  it.each([
    ['a text in JSON', 'json', `[${row},{"userId":"`, 'x', 2],
    ['a text of quotes in JSON', 'json', `[${row},{"userId":"`, '\\"', 2],
    ['an array in JSON', 'json', `[${row},${row},{"userId":"u3","traits":{"list":[1`, ',[1]', 3],
    ['nested arrays in JSON', 'json', `[`, '[', 1],
    ['members in JSON', 'json', `[{"userId":"u1"`, ',"a":1', 1],
    ['a number in JSON', 'json', `[${row},1`, '0', 2],
    ['a cell in CSV', 'csv', 'userId\nu1\nu', 'x', 3],
    ['a quoted cell in CSV', 'csv', 'userId\nu1\n"', 'x\n', 3],
    ['cells in CSV', 'csv', 'userId\nu1\nu2', ',x', 3],
    ['empty cells in CSV', 'csv', 'userId\nu1\nu2', ',', 3],
    ['a header in CSV', 'csv', 'userId', ',x', 1],
  ] as const)('is refused with its number and the limit: %s', async (_what, format, begin, repeated, number) => {
    const { error, taken } = await read(format, begin, repeated)
    expect(error).toBeInstanceOf(MembershipError)
    const [, found] = /^row (\d+) is longer than 65536 bytes$/.exec((error as Error).message) ?? []
    // A quoted cell has lines of its own.
    expect(Number(found)).toBeGreaterThanOrEqual(number)
    if (repeated !== 'x\n') expect(Number(found)).toBe(number)
    // What the streams hold beside the row.
    expect(taken).toBeLessThan(maxRowBytes + 40 * chunkBytes)
  })

  it('is refused in NDJSON, where a long one is a bad row', async () => {
    const { error, taken } = await read('ndjson', `${row}\n"`, 'x')
    expect(error).toBeInstanceOf(MembershipError)
    expect((error as Error).message).toMatch(/a line is longer than \d+ bytes/)
    expect(taken).toBeLessThan(20 * 1024 * 1024)
  })
})

it.each([
  ['json', (members: string[]) => `[${members.join(',\n')}]`],
  ['ndjson', (members: string[]) => members.join('\n')],
] as const)('reads long rows up to the limit in %s, whatever is in them', async (format, write) => {
  const text = '},{"]['.repeat(3_000)
  const members = Array.from({ length: 40 }, (_, n) => JSON.stringify({ userId: `u${n}`, traits: { text } }))
  const readings: Reading[] = []
  for await (const group of readMembers(Readable.from([Buffer.from(write(members))]), format, 'audience'))
    readings.push(...group)
  expect(readings.map((reading) => 'row' in reading && reading.row.userId)).toEqual(members.map((_, n) => `u${n}`))
})
